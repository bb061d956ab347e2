//! `load`: the generator alone, against a server that already runs.

use corepool_lab::environment::Machine;
use corepool_lab::load::{LoadPlan, load};
use corepool_lab::report::progress::Progress;
use corepool_lab::report::{LoadReport, table};

use super::Failure;
use crate::arguments::LoadArguments;

pub(crate) fn load_server(arguments: &LoadArguments) -> Result<(), Failure> {
    let plan = LoadPlan::new(&arguments.options()).map_err(Failure::usage)?;
    let mut output = arguments.output.open()?;
    let progress = Progress::of_load(plan.slices.into());
    let whole = load(&plan, |whole| progress.slice(whole)).map_err(Failure::run)?;
    drop(progress);
    let report = LoadReport::new(&plan, &whole, Machine::look());
    output.write(&report, &table::load(&report))?;
    match whole.faults.total() {
        0 => Ok(()),
        _ => Err(Failure::run(whole.faults.to_string())),
    }
}
