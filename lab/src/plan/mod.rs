//! What to measure: the options of a comparison, checked.

mod options;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use corepool::Scope;

use crate::cores::Cores;
use crate::descriptors::{self, DescriptorError};
use crate::generator::Slo;
use crate::placement::{Placement, PlacementError, Topology, check_allowed};
use crate::serve::ServeOptions;
use crate::serve::admitted::Admitted;
use crate::serve::registry::UnknownSystem;
use crate::serve::subject::Subject;
use crate::statistics::Precision;
use crate::workload::{Service, Workload, WorkloadError};

pub use options::{PlacementOptions, PlanOptions, ServerOptions, StatisticsOptions};

/// A comparison that can be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// The servers, at least two; all others are compared with the first.
    pub systems: Vec<Subject>,
    /// What each of them is told.
    pub serve: ServeOptions,
    /// What the server of that number does instead of what the workload needs: to
    /// try the method on a difference that is known.
    pub instead: BTreeMap<usize, Service>,
    /// What the clients do.
    pub workload: Workload,
    /// Where everything runs.
    pub placement: Placement,
    /// Pairs of slices.
    pub pairs: usize,
    /// How long a slice is.
    pub slice: Duration,
    /// How often all servers are started anew.
    pub restarts: usize,
    /// How narrow the interval must be.
    pub until: Option<Precision>,
    /// When to stop in any case.
    pub budget: Option<Duration>,
    /// Whether the first server is run against itself before.
    pub measures_noise: bool,
    /// What each server has to keep at its highest rate, if that is looked for.
    pub slo: Option<Slo>,
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
        let PlanOptions { systems, workload, servers, placement, statistics, executable } = options;
        let systems = systems.iter().map(|name| name.parse()).collect::<Result<Vec<_>, _>>()?;
        within("the number of servers", systems.len(), SYSTEMS)?;
        let workers = within("--workers", servers.workers, WORKERS)?;
        let restarts = within("--restarts", statistics.restarts, RESTARTS)?;
        let slice = within("--slice", statistics.slice_seconds, SLICE_SECONDS)?;
        let budget = statistics.budget_seconds.map(|seconds| within("--budget", seconds, BUDGET_SECONDS));
        let budget = budget.transpose()?.or_else(|| statistics.until.map(|_| UNTIL_SECONDS));
        let seed = statistics.seed.unwrap_or_else(|| fastrand::u64(..SEEDS));
        let placement = Placement::choose(&Topology::look(&Cores::allowed()?), workers, &placement.wanted())?;
        let mut workload = Workload::try_from(workload)?;
        workload.seed = seed;
        if statistics.slo.is_some() {
            workload.check_search()?;
        }
        one_limit(servers.limit, servers.admission)?;
        let limit = servers.limit.map(|limit| within("--limit", limit, LIMIT)).transpose()?;
        let serve = ServeOptions {
            workers,
            cores: placement.server_cores.clone(),
            limit: limit.or_else(|| workload.limit(workers).filter(|_| servers.admission.is_none())),
            admission: servers.admission,
            scope: servers.scope.as_deref().map(scope).transpose()?.unwrap_or_default(),
            service: workload.service(),
            overflow: servers.overflow,
            placement: servers.policy,
            ..ServeOptions::default()
        };
        descriptors::provide(systems.len() * workload.sockets())?;
        Ok(Self {
            systems,
            serve,
            instead: BTreeMap::new(),
            workload,
            placement,
            pairs: within("--pairs", statistics.pairs, restarts..=PAIRS_MAX)?,
            slice: Duration::from_secs_f64(slice),
            restarts,
            until: statistics.until,
            budget: budget.map(Duration::from_secs_f64),
            measures_noise: statistics.noise,
            slo: statistics.slo,
            seed,
            executable: executable.unwrap_or_else(|| PathBuf::from(THIS_EXECUTABLE)),
        })
    }
}

impl Plan {
    /// What the server of that number is told.
    #[must_use]
    pub fn serve(&self, system: usize) -> ServeOptions {
        let service = self.instead.get(&system).copied().unwrap_or(self.serve.service);
        ServeOptions { service, ..self.serve.clone() }
    }

    /// How many rounds the restart of that number has. The pairs are spread
    /// evenly over the restarts; those that follow have as many as the first.
    #[must_use]
    pub fn rounds(&self, restart: usize) -> usize {
        let rest = self.pairs % self.restarts;
        self.pairs / self.restarts + usize::from(restart < rest || (restart >= self.restarts && rest > 0))
    }

    /// A short run of the first server against itself, if one is asked for.
    #[must_use]
    pub fn noise(&self) -> Option<Self> {
        let first = self.systems.first()?;
        let restarts = self.restarts.min(NOISE_RESTARTS_MAX);
        self.measures_noise.then(|| Self {
            systems: vec![first.clone(), first.clone()],
            restarts,
            pairs: restarts * NOISE_PAIRS.min(self.rounds(0)),
            until: None,
            budget: None,
            measures_noise: false,
            slo: None,
            ..self.clone()
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

fn one_limit(limit: Option<u32>, admission: Option<Admitted>) -> Result<(), PlanError> {
    match (limit, admission) {
        (Some(_), Some(_)) => Err(PlanError::Policy("--limit and --admission are one too many".to_owned())),
        _ => Ok(()),
    }
}

fn scope(text: &str) -> Result<Scope, PlanError> {
    text.parse().map_err(|error| PlanError::Policy(format!("--scope: {error}")))
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
    /// No such policy of the framework.
    #[error("{0}")]
    Policy(String),
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

impl PlanError {
    /// Whether another machine could run the plan.
    #[must_use]
    pub const fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Placement(_) | Self::Descriptors(_) | Self::Machine(_))
    }
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
/// Whatever becomes of its file in the course of a long run.
const THIS_EXECUTABLE: &str = "/proc/self/exe";
const SYSTEMS: RangeInclusive<usize> = 2..=32;
const RESTARTS: RangeInclusive<usize> = 2..=100;
/// Random seeds are short enough to be typed.
const SEEDS: u64 = 1_000_000;
const PAIRS_MAX: usize = 10_000;
const BUDGET_SECONDS: RangeInclusive<f64> = 1.0..=86_400.0;
const UNTIL_SECONDS: f64 = 600.0;
/// Pairs of each restart in the run of a server against itself.
const NOISE_PAIRS: usize = 2;
const NOISE_RESTARTS_MAX: usize = 6;
const SLICE_SECONDS: RangeInclusive<f64> = 0.01..=60.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Kind, WorkloadOptions};

    fn plan(change: impl FnOnce(&mut PlanOptions)) -> Result<Plan, PlanError> {
        let systems = ["epoll", "tokio-raw"].map(str::to_owned).to_vec();
        let mut options = PlanOptions { systems, ..PlanOptions::default() };
        change(&mut options);
        Plan::new(options)
    }

    #[test]
    fn the_defaults_are_a_plan_of_less_than_a_minute() {
        let plan = plan(|_| ()).unwrap();
        let slices = |plan: &Plan| 2 * (plan.pairs + plan.restarts);
        let slices = slices(&plan) + slices(&plan.noise().unwrap());
        assert!(plan.slice.as_secs_f64() * slices as f64 <= 50.0);
    }

    #[test]
    fn the_pairs_are_spread_over_the_restarts() {
        let mut plan = plan(|options| {
            options.statistics.pairs = 20;
            options.statistics.restarts = 6;
        })
        .unwrap();
        let rounds = |plan: &Plan| (0..7).map(|restart| plan.rounds(restart)).collect::<Vec<_>>();
        assert_eq!(rounds(&plan), [4, 4, 3, 3, 3, 3, 4]);
        plan.pairs = 18;
        assert_eq!(rounds(&plan), [3; 7]);
    }

    #[test]
    fn the_noise_is_the_first_server_against_itself_and_short() {
        let noise = plan(|_| ()).unwrap().noise().unwrap();
        assert!(noise.systems.iter().all(|system| system.name == "epoll"));
        assert_eq!((noise.systems.len(), noise.pairs, noise.restarts), (2, 12, 6));
        assert!(noise.noise().is_none());
        assert!(plan(|options| options.statistics.noise = false).unwrap().noise().is_none());
    }

    #[test]
    fn a_run_until_an_interval_is_narrow_ends_in_any_case() {
        let until = |budget| {
            let plan = plan(|options| {
                options.statistics.until = Some("1%".parse().unwrap());
                options.statistics.budget_seconds = budget;
            });
            plan.unwrap().budget.unwrap().as_secs()
        };
        assert_eq!((until(None), until(Some(30.0))), (600, 30));
        assert!(plan(|_| ()).unwrap().budget.is_none());
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_range() {
        let error = plan(|options| options.workload.connections = Some(0)).unwrap_err();
        assert_eq!(error.to_string(), "connections is 0, but must be from 1 to 20000");
        let error = plan(|options| options.statistics.pairs = 5).unwrap_err();
        assert_eq!(error.to_string(), "--pairs is 5, but must be from 12 to 10000");
        for wrong in [0.0, 61.0, f64::NAN, f64::INFINITY, -1.0] {
            let error = plan(|options| options.statistics.slice_seconds = wrong).unwrap_err();
            assert!(error.to_string().starts_with("--slice is "), "{error}");
        }
    }

    #[test]
    fn a_limit_is_a_number_or_finds_itself_and_not_both() {
        let both = |options: &mut PlanOptions| {
            options.servers.limit = Some(8);
            options.servers.admission = Some("adaptive:8..64".parse().unwrap());
        };
        assert!(plan(both).unwrap_err().to_string().contains("--limit and --admission"));
        let found = plan(|options| {
            options.workload = WorkloadOptions::of(Kind::Saturation);
            options.servers.admission = Some("unlimited".parse().unwrap());
            options.servers.scope = Some("request".to_owned());
        });
        let serve = found.unwrap().serve;
        assert_eq!((serve.limit, serve.scope), (None, Scope::Request));
        let error = plan(|options| options.servers.scope = Some("client".to_owned())).unwrap_err();
        assert_eq!(error.to_string(), "--scope: \"client\" is no scope: connection and request are");
    }

    #[test]
    fn every_bounded_option_is_checked() {
        type Change = fn(&mut PlanOptions);
        let changes: [(&str, Change); 7] = [
            ("the number of servers", |options| options.systems.truncate(1)),
            ("--budget", |options| options.statistics.budget_seconds = Some(0.5)),
            ("bytes", |options| options.workload.bytes = Some(0)),
            ("--workers", |options| options.servers.workers = 0),
            ("--limit", |options| options.servers.limit = Some(0)),
            ("--restarts", |options| options.statistics.restarts = 1),
            ("--client-cores", |options| {
                options.placement.client_cores = Some("1000".parse().unwrap());
            }),
        ];
        for (argument, change) in changes {
            let error = plan(change).unwrap_err().to_string();
            assert!(error.starts_with(argument), "{error}");
        }
    }
}
