//! `run`: the experiment of a file, row by row, resumed where it was left.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use corepool_lab::cores::Cores;
use corepool_lab::experiment::run::{Event, run};
use corepool_lab::experiment::{Experiment, Record, Results, Store, StoreError, file};
use corepool_lab::report::progress::Progress;
use corepool_lab::report::{line, table};
use corepool_lab::suite::server_cores;

use super::Failure;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The plan, a TOML file
    plan: PathBuf,
    /// Where the rows are kept as they end [default: beside the plan, as .jsonl]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Forget the rows of earlier runs
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn run_plan(arguments: &RunArguments) -> Result<(), Failure> {
    let cores = Cores::allowed().map_err(Failure::run)?;
    let experiment = file::read(&arguments.plan).map_err(Failure::usage)?.scaled_to(server_cores(&cores));
    let results = arguments.results.clone().unwrap_or_else(|| arguments.plan.with_extension("jsonl"));
    let mut output = arguments.output.open()?;
    let results = measure(&experiment, &results, arguments.fresh)?;
    output.write(&results, &results, &table::results(&results))?;
    Failure::of(&results)
}

/// Runs the rows that are not in the file yet, with progress on the standard
/// error.
pub(crate) fn measure(experiment: &Experiment, results: &Path, fresh: bool) -> Result<Results, Failure> {
    let mut store = Store::open(results, &experiment.heading).map_err(Failure::usage)?;
    if fresh {
        store.clear(&experiment.heading).map_err(Failure::run)?;
    }
    let rows = experiment.rows.len();
    let mut progress = None;
    let measured = run(experiment, &mut store, |event| match event {
        Event::Begins(index, plan) => {
            progress = Some(Progress::of_row(plan, index, rows, &experiment.rows[index].label()));
        }
        Event::Round(phase, outcome) => {
            progress.as_ref().into_iter().for_each(|progress: &Progress| progress.round(phase, outcome));
        }
        Event::Ends(index, record) => {
            progress = None;
            tell(index, rows, record);
        }
        _ => {}
    });
    measured.map_err(|error: StoreError| Failure::run(error))
}

/// One line for a row that has ended.
fn tell(index: usize, rows: usize, record: &Record) {
    // The results are on the disk, whoever does not want to hear of them.
    let _ = writeln!(io::stderr(), "[{}/{rows}] {}", index + 1, line(record));
}
