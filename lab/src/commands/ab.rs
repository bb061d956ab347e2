//! `ab`: servers against each other, under one load.

use corepool_lab::experiment::{Results, run::run_row};
use corepool_lab::plan::Plan;
use corepool_lab::report::progress::Progress;
use corepool_lab::report::{Pair, table};

use super::Failure;
use crate::arguments::AbArguments;

pub(crate) fn ab(arguments: &AbArguments) -> Result<(), Failure> {
    let options = arguments.options();
    let plan = Plan::new(options.clone()).map_err(Failure::usage)?;
    let mut output = arguments.output.open()?;
    let progress = Progress::new(&plan);
    let row = run_row(&options, &plan, |phase, outcome| progress.round(phase, outcome));
    drop(progress);
    let row = row.map_err(Failure::run)?;
    let text = table::row(&row);
    let results = Results::of_row(row.clone());
    output.write(&Pair::of(&row), &results, &text)?;
    Failure::of(&results)
}
