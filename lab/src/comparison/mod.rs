//! The course of a comparison: servers are run against each other.
//!
//! A run is a number of restarts. In each, all servers are started anew, in
//! random order; connections to all of them are opened and stay; one slice of
//! each is thrown away to warm up; then rounds follow, one slice of each server,
//! forwards and backwards in turn (ABBA), so that a machine that drifts favours
//! none. With two servers a round is a pair.
//!
//! Before it, the first server is run against itself: that is the noise of this
//! machine today, and what any difference has to be read with.
//!
//! Afterwards, if the plan asks for it, the highest rate is looked for at which each
//! server keeps a promise.
//!
//! What the samples mean is left to [`statistics`](crate::statistics).

mod capacities;
mod outcome;
mod pair;
mod runner;

use std::io;

use crate::generator::Capacity;
use crate::plan::Plan;
use crate::servers::ServerError;

pub use outcome::{Measured, Outcome, Round};
pub use pair::pair;
use runner::Runner;

/// What a comparison came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measurement {
    /// The first server against itself, unless the plan leaves that out.
    pub noise: Option<Outcome>,
    /// All servers.
    pub outcome: Outcome,
    /// The highest rate of each server, if the plan asks for it; else empty.
    pub capacities: Vec<Capacity>,
}

/// What is being measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The first server against itself.
    Noise,
    /// The servers against each other.
    Comparison,
}

/// Measures the noise, then the servers; `watch` sees what is known after each
/// round.
///
/// Lost requests are no error here: they are in the [`Outcome`], and after a
/// few failed rounds in a row the run is cut short.
///
/// # Errors
/// When a server does not start or ends, or something other than the servers
/// fails.
pub fn measure(plan: &Plan, mut watch: impl FnMut(Phase, &Outcome)) -> Result<Measurement, ComparisonError> {
    let noise = match plan.noise() {
        Some(plan) => Some(compare(&plan, |outcome| watch(Phase::Noise, outcome))?),
        None => None,
    };
    let outcome = compare(plan, |outcome| watch(Phase::Comparison, outcome))?;
    let capacities = plan.slo.map(|slo| capacities::capacities(plan, slo)).transpose()?;
    Ok(Measurement { noise, outcome, capacities: capacities.unwrap_or_default() })
}

/// Runs the servers of the plan against each other, without the noise.
///
/// # Errors
/// As of [`measure`].
pub fn compare(plan: &Plan, watch: impl FnMut(&Outcome)) -> Result<Outcome, ComparisonError> {
    Runner::new(plan, watch)?.run()
}

/// Why a run could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// A server did not start, or ended.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The clients could not go on.
    #[error("the load generator failed: {0}")]
    Clients(#[from] io::Error),
}
