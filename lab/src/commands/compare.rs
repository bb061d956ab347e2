//! `compare`: what got worse from an older result to a newer one.

use std::path::PathBuf;

use clap::Args;
use corepool_lab::experiment::store;
use corepool_lab::regression::Regression;
use corepool_lab::report::table;

use super::Failure;
use crate::output::JsonOutput;

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The older result: the JSON of `ab` or `run`, or what `run` has kept
    old: PathBuf,
    /// The newer result
    new: PathBuf,
    #[command(flatten)]
    output: JsonOutput,
}

/// Ends with 1 if anything got worse.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let old = store::read(&arguments.old).map_err(Failure::usage)?;
    let new = store::read(&arguments.new).map_err(Failure::usage)?;
    let mut output = arguments.output.open()?;
    let regression = Regression::new(&old, &new);
    if regression.changes.is_empty() && regression.broken.is_empty() {
        return Err(Failure::usage("the two have no measured row in common"));
    }
    output.write(&regression, &table::regression(&regression))?;
    match regression.worse().count() + regression.broken.len() {
        0 => Ok(()),
        count => Err(Failure::run(format!("{count} got worse"))),
    }
}
