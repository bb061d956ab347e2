//! `report`: results that are there already, in another form.

use std::path::PathBuf;

use clap::Args;
use corepool_lab::experiment::store;
use corepool_lab::report::table;

use super::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// What `run` has kept, or the JSON of `run` or `ab`
    results: PathBuf,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn show(arguments: &ReportArguments) -> Result<(), Failure> {
    let results = store::read(&arguments.results).map_err(Failure::usage)?;
    arguments.output.open()?.write(&results, &results, &table::results(&results))
}
