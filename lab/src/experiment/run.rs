//! Measuring the rows of an experiment, one after the other.

use super::{Ending, Experiment, PlannedRow, Record, Results, Store, StoreError};
use crate::comparison::{ComparisonError, Outcome, Phase, measure};
use crate::environment::{DisturbanceMeter, Machine};
use crate::plan::{Plan, PlanOptions};
use crate::report::Row;

/// What happens in the course of an experiment.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A row is about to be measured.
    Begins(usize, &'a Plan),
    /// A round of it is done.
    Round(Phase, &'a Outcome),
    /// It has ended, now or in an earlier run.
    Ends(usize, &'a Record),
}

/// Measures the rows that the store does not have yet. One that fails is
/// recorded as failed, and the others follow.
///
/// # Errors
/// When a record cannot be kept.
pub fn run(
    experiment: &Experiment,
    store: &mut Store,
    mut watch: impl FnMut(Event<'_>),
) -> Result<Results, StoreError> {
    for (index, row) in experiment.rows.iter().enumerate() {
        let record = match store.finished(row) {
            Some(record) => record.clone(),
            None => {
                let record = Record::new(row, end(index, row, &mut watch));
                store.add(record.clone())?;
                record
            }
        };
        watch(Event::Ends(index, &record));
    }
    Ok(store.results(&experiment.heading, &experiment.rows))
}

/// Measures one comparison; `watch` sees what is known after each round.
///
/// # Errors
/// As of [`measure`].
pub fn run_row(
    options: &PlanOptions,
    plan: &Plan,
    watch: impl FnMut(Phase, &Outcome),
) -> Result<Row, ComparisonError> {
    let machine = Machine::look();
    let meter = DisturbanceMeter::start();
    let measurement = measure(plan, watch)?;
    Ok(Row::new(options, plan, &measurement, machine, meter.disturbance()))
}

fn end(index: usize, row: &PlannedRow, watch: &mut impl FnMut(Event<'_>)) -> Ending {
    let plan = match Plan::new(row.options.clone()) {
        Ok(plan) => plan,
        Err(error) => return Ending::Refused(error.to_string()),
    };
    watch(Event::Begins(index, &plan));
    match run_row(&row.options, &plan, |phase, outcome| watch(Event::Round(phase, outcome))) {
        Ok(row) => Ending::Measured(Box::new(row)),
        Err(error) => Ending::Failed(error.to_string()),
    }
}
