//! What to measure: the options of a comparison, checked.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::cores::Cores;
use crate::descriptors::{self, DescriptorError};
use crate::placement::{Placement, PlacementError, check_allowed};
use crate::serve::ServeOptions;
use crate::serve::registry::{self, System, UnknownSystem};
use crate::workload::{Workload, WorkloadError, WorkloadOptions};

/// The options of a comparison as the user gives them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The server that the other is compared with.
    pub a: String,
    /// The other server.
    pub b: String,
    /// What the clients do to each of them.
    pub workload: WorkloadOptions,
    /// Workers of each server, 1 to 256.
    pub workers: usize,
    /// How many connections a worker of the framework serves at a time.
    pub limit: Option<u32>,
    /// Where the framework puts a new connection.
    pub placement: Option<corepool::Placement>,
    /// Pairs of slices, one of A and one of B.
    pub pairs: usize,
    /// How long a slice is, in seconds, 0.01 to 60.
    pub slice_seconds: f64,
    /// How often both servers are started anew, 2 to 100.
    pub restarts: usize,
    /// Cores of the servers; chosen if there are none.
    pub server_cores: Option<Cores>,
    /// Cores of the clients; chosen if there are none.
    pub client_cores: Option<Cores>,
    /// What all random choices are made from; random itself if there is none.
    pub seed: Option<u64>,
    /// The executable that serves, which is this one unless a test says else.
    pub executable: Option<PathBuf>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            a: String::new(),
            b: String::new(),
            workload: WorkloadOptions::default(),
            workers: 1,
            limit: None,
            placement: None,
            pairs: 48,
            slice_seconds: 0.3,
            restarts: 6,
            server_cores: None,
            client_cores: None,
            seed: None,
            executable: None,
        }
    }
}

/// A comparison that can be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The servers, A first.
    pub systems: [&'static System; 2],
    /// What each of them is told.
    pub serve: ServeOptions,
    /// What the clients do.
    pub workload: Workload,
    /// Where everything runs.
    pub placement: Placement,
    /// Pairs of slices.
    pub pairs: usize,
    /// How long a slice is.
    pub slice: Duration,
    /// How often both servers are started anew.
    pub restarts: usize,
    /// What all random choices are made from.
    pub seed: u64,
    /// The executable that serves.
    pub executable: PathBuf,
}

impl Plan {
    /// Checks the options and decides what they leave open.
    ///
    /// # Errors
    /// When a name is unknown, a value is out of its range, a core is not ours,
    /// or there are not enough descriptors for so many connections.
    pub fn new(options: PlanOptions) -> Result<Self, PlanError> {
        let systems = [registry::find(&options.a)?, registry::find(&options.b)?];
        let workers = within("--workers", options.workers, WORKERS)?;
        let restarts = within("--restarts", options.restarts, RESTARTS)?;
        let slice = within("--slice", options.slice_seconds, SLICE_SECONDS)?;
        let seed = options.seed.unwrap_or_else(|| fastrand::u64(..SEEDS));
        let placement =
            Placement::choose(&Cores::allowed()?, workers, options.server_cores, options.client_cores)?;
        let mut workload = Workload::try_from(options.workload)?;
        workload.seed = seed;
        let limit = options.limit.map(|limit| within("--limit", limit, LIMIT)).transpose()?;
        let serve = ServeOptions {
            workers,
            cores: placement.server_cores.clone(),
            limit: limit.or_else(|| workload.limit(workers)),
            service: workload.service(),
            placement: options.placement,
            ..ServeOptions::default()
        };
        descriptors::provide(2 * workload.sockets())?;
        Ok(Self {
            systems,
            serve,
            workload,
            placement,
            pairs: within("--pairs", options.pairs, restarts..=PAIRS_MAX)?,
            slice: Duration::from_secs_f64(slice),
            restarts,
            seed,
            executable: options.executable.map_or_else(std::env::current_exe, Ok)?,
        })
    }
}

/// Checks the options of a server that is run by hand.
///
/// # Errors
/// When a value is out of its range, or a core is not ours.
pub fn check_serve(options: &ServeOptions) -> Result<(), PlanError> {
    within("--workers", options.workers, WORKERS)?;
    if let Some(limit) = options.limit {
        within("--limit", limit, LIMIT)?;
    }
    Ok(check_allowed("--cores", &options.cores, &Cores::allowed()?)?)
}

/// Options that make no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// No such server.
    #[error(transparent)]
    Unknown(#[from] UnknownSystem),
    /// No such workload.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A value that is not allowed.
    #[error("{argument} is {value}, but must be from {least} to {most}")]
    OutOfRange {
        /// The option.
        argument: &'static str,
        /// What it was set to.
        value: String,
        /// The least that is allowed.
        least: String,
        /// The most that is allowed.
        most: String,
    },
    /// Cores that cannot be had.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// More connections than descriptors.
    #[error(transparent)]
    Descriptors(#[from] DescriptorError),
    /// This machine does not say what it has.
    #[error("cannot look at this machine: {0}")]
    Machine(#[from] std::io::Error),
}

/// Checks that a value is in its range.
pub(crate) fn within<T: PartialOrd + Display>(
    argument: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, PlanError> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(PlanError::OutOfRange {
        argument,
        value: value.to_string(),
        least: range.start().to_string(),
        most: range.end().to_string(),
    })
}

const WORKERS: RangeInclusive<usize> = 1..=256;
const LIMIT: RangeInclusive<u32> = 1..=1_000_000;
const RESTARTS: RangeInclusive<usize> = 2..=100;
/// Random seeds are short enough to be typed.
const SEEDS: u64 = 1_000_000;
const PAIRS_MAX: usize = 10_000;
const SLICE_SECONDS: RangeInclusive<f64> = 0.01..=60.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut PlanOptions)) -> Result<Plan, PlanError> {
        let mut options =
            PlanOptions { a: "epoll".to_owned(), b: "tokio-raw".to_owned(), ..PlanOptions::default() };
        change(&mut options);
        Plan::new(options)
    }

    #[test]
    fn the_defaults_are_a_plan_of_less_than_45_seconds() {
        let plan = plan(|_| ()).unwrap();
        let slices = 2 * (plan.pairs + plan.restarts);
        assert!(plan.slice.as_secs_f64() * slices as f64 <= 40.0);
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_range() {
        let error = plan(|options| options.workload.connections = Some(0)).unwrap_err();
        assert_eq!(error.to_string(), "connections is 0, but must be from 1 to 20000");
        let error = plan(|options| options.pairs = 5).unwrap_err();
        assert_eq!(error.to_string(), "--pairs is 5, but must be from 6 to 10000");
        for wrong in [0.0, 61.0, f64::NAN, f64::INFINITY, -1.0] {
            let error = plan(|options| options.slice_seconds = wrong).unwrap_err();
            assert!(error.to_string().starts_with("--slice is "), "{error}");
        }
    }

    #[test]
    fn every_bounded_option_is_checked() {
        type Change = fn(&mut PlanOptions);
        let changes: [(&str, Change); 5] = [
            ("bytes", |options| options.workload.bytes = Some(0)),
            ("--workers", |options| options.workers = 0),
            ("--limit", |options| options.limit = Some(0)),
            ("--restarts", |options| options.restarts = 1),
            ("--client-cores", |options| {
                options.client_cores = Some("1000".parse().unwrap());
            }),
        ];
        for (argument, change) in changes {
            let error = plan(change).unwrap_err().to_string();
            assert!(error.starts_with(argument), "{error}");
        }
    }
}
