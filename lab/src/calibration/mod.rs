//! Whether the lab can be trusted on this machine: how often it claims a
//! difference where there is none, and how often it finds one that is there.
//!
//! A pilot runs a server against itself. From its pairs [`design`] chooses how
//! much has to be run to find a slowdown of a few percent with a given
//! probability. A second one sees what a loop that spins in the handler adds to
//! the CPU time of a request, and makes it as long as it has to be: a server that
//! has to wait for its clients sleeps less for a part of it. Then the server is
//! run many times against itself, and many times against itself with the loop;
//! [`store`] keeps each of these trials, so that hours of them survive an
//! interruption. [`summary`] counts.

pub mod design;
pub mod store;
pub mod summary;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::comparison::{ComparisonError, Outcome, compare};
use crate::figures::Figure;
use crate::plan::{Plan, PlanError, PlanOptions, StatisticsOptions, within};
use crate::serve::session::spin;
use crate::statistics::{Estimate, Resamples, Verdict};
use crate::workload::Service;

pub use design::Pilot;
pub use store::Store;
pub use summary::Summary;

/// What is tried, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CalibrationOptions {
    /// The server that is run against itself.
    pub system: String,
    /// How often each of the two is tried, 1 to 10,000.
    pub runs: usize,
    /// By how many percent the planted server is slower, 0.1 to 100.
    pub slowdown_percent: f64,
    /// How long a run without a difference takes, in seconds, 1 to 600.
    pub seconds: f64,
    /// How likely a run with a difference is to find it, 0.5 to 0.999.
    pub power: f64,
    /// How long a slice is, in seconds.
    pub slice_seconds: f64,
    /// How often the servers are started in the pilot, 2 to 100.
    pub pilot_restarts: usize,
    /// What all random choices are made from.
    pub seed: u64,
}

impl Default for CalibrationOptions {
    fn default() -> Self {
        Self {
            system: "epoll".to_owned(),
            runs: 100,
            slowdown_percent: 3.0,
            seconds: 15.0,
            power: 0.95,
            slice_seconds: 0.2,
            pilot_restarts: 24,
            seed: 1,
        }
    }
}

/// What a trial is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A server against itself.
    Same,
    /// A server against itself with a loop that spins.
    Slower,
}

/// One run and what it claimed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trial {
    /// What it was about.
    pub kind: Kind,
    /// Its number among those of its kind.
    pub number: usize,
    /// The ratio that it found.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval_95: (f64, f64),
    /// Its 99 % interval.
    pub interval_99: (f64, f64),
    /// Whether it claimed a difference.
    pub claims: bool,
    /// How long it took.
    pub seconds: f64,
}

impl CalibrationOptions {
    /// Checks the options.
    ///
    /// # Errors
    /// When one is out of its range, or there is no such server.
    pub fn check(&self) -> Result<(), PlanError> {
        within("--runs", self.runs, 1..=10_000)?;
        within("--slowdown", self.slowdown_percent, 0.1..=100.0)?;
        within("--seconds", self.seconds, 1.0..=600.0)?;
        within("--power", self.power, 0.5..=0.999)?;
        self.plan(self.pilot_restarts, design::PILOT_PAIRS, 0).map(drop)
    }

    /// The ratio of what the planted server uses.
    #[must_use]
    pub fn planted_ratio(&self) -> f64 {
        1.0 + self.slowdown_percent / 100.0
    }

    /// The server against itself, doing the same.
    fn plan(&self, restarts: usize, pairs: usize, seed: u64) -> Result<Plan, PlanError> {
        let statistics = StatisticsOptions {
            restarts,
            pairs: restarts * pairs,
            slice_seconds: self.slice_seconds,
            noise: false,
            seed: Some(self.seed.wrapping_mul(1_000_003).wrapping_add(seed)),
            ..StatisticsOptions::default()
        };
        let systems = vec![self.system.clone(), self.system.clone()];
        let options = PlanOptions { systems, statistics, ..PlanOptions::default() };
        let mut plan = Plan::new(options)?;
        plan.instead = [(0, NO_SPIN), (1, NO_SPIN)].into();
        Ok(plan)
    }
}

/// Runs the server against itself to see how noisy the machine is, and against
/// itself with a loop to see what that makes of a request; decides how much must
/// be run, and how long the loop is.
///
/// # Errors
/// When a server fails, or no run that anybody would wait for is enough.
pub fn pilot(
    options: &CalibrationOptions,
    mut watch: impl FnMut(&Outcome),
) -> Result<Pilot, CalibrationError> {
    let plan = options.plan(options.pilot_restarts, design::PILOT_PAIRS, 0)?;
    let began = Instant::now();
    let outcome = measure(&plan, &mut watch)?;
    let mut pilot = Pilot::new(options, &outcome, began.elapsed(), round_ns())
        .ok_or(CalibrationError::TooNoisy { percent: options.slowdown_percent, power: options.power })?;
    let mut plan = options.plan(options.pilot_restarts, design::PILOT_PAIRS, SECOND_PILOT)?;
    plan.instead.insert(1, pilot.service());
    pilot.plant(options, estimate(&measure(&plan, watch)?)?.ratio);
    Ok(pilot)
}

/// Runs one trial.
///
/// # Errors
/// When a server fails or loses requests.
pub fn run(
    options: &CalibrationOptions,
    pilot: &Pilot,
    kind: Kind,
    number: usize,
    watch: impl FnMut(&Outcome),
) -> Result<Trial, CalibrationError> {
    let began = Instant::now();
    let design = match kind {
        Kind::Same => pilot.design_of_seconds(options),
        Kind::Slower => pilot.design(),
    };
    let offset = if kind == Kind::Same { 1 } else { 1_000_001 };
    let mut plan = options.plan(design.restarts, design.pairs, number as u64 + offset)?;
    if kind == Kind::Slower {
        plan.instead.insert(1, pilot.service());
    }
    let estimate = estimate(&measure(&plan, watch)?)?;
    Ok(Trial {
        kind,
        number,
        ratio: estimate.ratio,
        interval_95: estimate.interval_95,
        interval_99: estimate.interval_99,
        claims: Verdict::of(&estimate) == Verdict::Differs,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// Why a calibration cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The options make no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A server failed.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
    /// Requests were lost.
    #[error("a run failed: {0}")]
    Lost(String),
    /// The machine is too noisy.
    #[error(
        "this machine is too noisy: no run of a reasonable length would find {percent} % with a \
         probability of {power}; try again when it is quiet, or with a larger --slowdown"
    )]
    TooNoisy {
        /// The difference that was to be found.
        percent: f64,
        /// How likely that was to be.
        power: f64,
    },
}

fn measure(plan: &Plan, watch: impl FnMut(&Outcome)) -> Result<Outcome, CalibrationError> {
    let outcome = compare(plan, watch)?;
    match outcome.failure(&["A".to_owned(), "B".to_owned()]) {
        Some(failure) => Err(CalibrationError::Lost(failure)),
        None => Ok(outcome),
    }
}

fn estimate(outcome: &Outcome) -> Result<Estimate, CalibrationError> {
    let estimate = outcome.estimate(1, Figure::PRIMARY, Resamples::Thorough);
    estimate.ok_or_else(|| CalibrationError::Lost("no pair was measured".to_owned()))
}

/// How long one round of the loop takes here, in nanoseconds: the fastest of a
/// few tries.
fn round_ns() -> f64 {
    let time = |_| {
        let began = Instant::now();
        spin(SPIN_TRIED);
        began.elapsed()
    };
    let fastest = (0..5).map(time).min().unwrap_or(Duration::from_millis(1));
    fastest.as_secs_f64() * 1e9 / f64::from(SPIN_TRIED)
}

const NO_SPIN: Service = Service::Spin { rounds: 0 };
/// Seeds of the plans: no trial has it.
const SECOND_PILOT: u64 = 2_000_001;
const SPIN_TRIED: u32 = 5_000_000;
