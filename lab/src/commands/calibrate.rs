//! `calibrate`: whether the lab can be trusted on this machine.

use std::path::PathBuf;

use clap::Args;
use corepool_lab::calibration::{self, CalibrationOptions, Kind, Store, Summary};
use corepool_lab::environment::Machine;
use corepool_lab::report::progress::Progress;

use super::Failure;
use crate::output::JsonOutput;

#[derive(Debug, Args)]
pub(crate) struct CalibrateArguments {
    /// The server that is run against itself
    #[arg(long, default_value = "epoll")]
    system: String,
    /// Runs without a difference, and as many with one
    #[arg(long, default_value_t = 100)]
    runs: usize,
    /// By how many percent the planted server is slower
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0)]
    slowdown: f64,
    /// How long a run without a difference takes
    #[arg(long, default_value_t = 15.0)]
    seconds: f64,
    /// How likely a run with a difference shall be to find it
    #[arg(long, default_value_t = 0.95)]
    power: f64,
    /// Length of a slice in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    slice: f64,
    /// How often the servers are started in the pilot
    #[arg(long, value_name = "N", default_value_t = 24)]
    pilot_restarts: usize,
    /// What all random choices are made from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the runs are kept as they end; those that are there are not run again
    #[arg(long, value_name = "FILE", default_value = "calibration.jsonl")]
    results: PathBuf,
    /// Run only those without a difference (same), or only those with one (slower)
    #[arg(long, value_name = "KIND", value_parser = kind)]
    only: Option<Kind>,
    #[command(flatten)]
    output: JsonOutput,
}

impl CalibrateArguments {
    fn options(&self) -> CalibrationOptions {
        let mut options = CalibrationOptions::default();
        options.system.clone_from(&self.system);
        options.runs = self.runs;
        options.slowdown_percent = self.slowdown;
        options.seconds = self.seconds;
        options.power = self.power;
        options.slice_seconds = self.slice;
        options.pilot_restarts = self.pilot_restarts;
        options.seed = self.seed;
        options
    }
}

pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let options = arguments.options();
    options.check().map_err(Failure::usage)?;
    let mut output = arguments.output.open()?;
    let shown = arguments.results.display();
    let mut store = Store::open(&arguments.results, &options)
        .map_err(|error| Failure::usage(format!("--results {shown}: {error}")))?;
    let kinds = arguments.only.map_or_else(|| vec![Kind::Same, Kind::Slower], |kind| vec![kind]);
    let progress = Progress::of_trials((kinds.len() * options.runs) as u64);
    let pilot = match store.pilot.clone() {
        Some(pilot) => pilot,
        None => {
            progress.says("the pilot");
            let pilot = calibration::pilot(&options, |_| progress.tick()).map_err(Failure::run)?;
            store.keep_pilot(pilot.clone()).map_err(Failure::run)?;
            pilot
        }
    };
    // Both kinds in turn, so that a machine that changes favours neither.
    for number in 0..options.runs {
        for &kind in &kinds {
            progress.says(&Summary::new(&options, &pilot, &store.trials, Machine::look()).short());
            if !store.has(kind, number) {
                let trial = calibration::run(&options, &pilot, kind, number, |_| progress.tick());
                store.keep(trial.map_err(Failure::run)?).map_err(Failure::run)?;
            }
            progress.step();
        }
    }
    drop(progress);
    let summary = Summary::new(&options, &pilot, &store.trials, Machine::look());
    output.write(&summary, &summary.words())?;
    match (summary.is_honest(), summary.is_sharp()) {
        (true, true) => Ok(()),
        (false, _) => Err(Failure::run("too many runs claim a difference where there is none")),
        (_, false) => Err(Failure::run("too few runs find the difference that is there")),
    }
}

fn kind(name: &str) -> Result<Kind, &'static str> {
    match name {
        "same" => Ok(Kind::Same),
        "slower" => Ok(Kind::Slower),
        _ => Err("same or slower"),
    }
}
