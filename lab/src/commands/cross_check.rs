//! `cross-check`: whether `wrk` sees the same rate as the lab.

use clap::Args;
use corepool_lab::cross_check::{self, CrossCheckOptions};
use corepool_lab::report::progress::Progress;

use super::Failure;
use crate::output::JsonOutput;

#[derive(Debug, Args)]
pub(crate) struct CrossCheckArguments {
    /// The server that both load, with HTTP
    #[arg(long, default_value = "tokio")]
    system: String,
    /// Connections of each of them
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    conns: u32,
    /// How often the server is started anew
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=100))]
    restarts: u32,
    /// Pairs of slices after each start
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: u32,
    /// Length of a slice in whole seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    slice: u32,
    /// By how many percent the two may differ, where the server is the limit of both
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    within: f64,
    #[command(flatten)]
    output: JsonOutput,
}

pub(crate) fn cross_check(arguments: &CrossCheckArguments) -> Result<(), Failure> {
    let mut options = CrossCheckOptions::default();
    options.system.clone_from(&arguments.system);
    options.connections = arguments.conns as usize;
    options.restarts = arguments.restarts as usize;
    options.pairs = arguments.pairs as usize;
    options.slice_seconds = arguments.slice.into();
    let mut output = arguments.output.open()?;
    let progress = Progress::of_trials(u64::from(arguments.restarts * (arguments.pairs + 1)));
    let check = cross_check::cross_check(&options, || progress.step()).map_err(Failure::run)?;
    drop(progress);
    output.write(&check, &check.words())?;
    match (check.is_server_bound(), check.agrees(arguments.within)) {
        (true, true) => Ok(()),
        (false, _) => Err(Failure::run("the server was not the limit")),
        (true, false) => Err(Failure::run(format!("they differ by more than {} %", arguments.within))),
    }
}
