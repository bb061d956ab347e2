//! `load`: the generator alone, against a server that already runs.

use corepool_lab::environment::Machine;
use corepool_lab::generator::Slo;
use corepool_lab::load::{LoadPlan, load, search};
use corepool_lab::report::progress::Progress;
use corepool_lab::report::{CapacityReport, LoadReport, table};

use super::Failure;
use crate::arguments::LoadArguments;

pub(crate) fn load_server(arguments: &LoadArguments) -> Result<(), Failure> {
    let plan = LoadPlan::new(&arguments.options()).map_err(Failure::usage)?;
    if let Some(slo) = plan.slo {
        return find_highest_rate(arguments, &plan, slo);
    }
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

fn find_highest_rate(arguments: &LoadArguments, plan: &LoadPlan, slo: Slo) -> Result<(), Failure> {
    let mut output = arguments.output.open()?;
    let progress = Progress::of_search();
    let capacity = search(plan, slo, |step| progress.rate(step)).map_err(Failure::run)?;
    drop(progress);
    let report = CapacityReport::new(plan, capacity, Machine::look());
    output.write(&report, &table::capacity(&report))
}
