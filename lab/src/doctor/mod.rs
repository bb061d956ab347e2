//! Whether this machine is fit to measure on and to serve from, and what to do
//! about it.
//!
//! [`facts`] reads the machine; [`checks`] judges what was read, and is pure, so
//! that every verdict can be tried without a machine that deserves it; [`nic`]
//! plans how the interrupts of a network card are laid out, and how to take that
//! back. Nothing is ever changed.

pub mod checks;
pub mod facts;
pub mod nic;

use serde::Serialize;

pub use facts::Facts;
pub use nic::Steps;

/// What was found out.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// One for each thing that was looked at.
    pub checks: Vec<Check>,
    /// How to lay out the interrupts of each network card.
    pub steps: Vec<Steps>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// What it is.
    pub about: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it, if anything.
    pub advice: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum State {
    /// As it should be.
    Good,
    /// Results or service may suffer.
    Doubtful,
    /// Something does not work at all, or no result can be trusted.
    Bad,
}

impl Diagnosis {
    /// Judges what was read.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        let steps = facts.nics.iter().map(|nic| Steps::new(nic, &facts.cores, facts.irqbalance));
        Self { checks: checks::all(facts), steps: steps.collect() }
    }

    /// Whether nothing is bad.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.checks.iter().all(|check| check.state < State::Bad)
    }
}

impl Check {
    fn good(about: &'static str, found: impl Into<String>) -> Self {
        Self { about, state: State::Good, found: found.into(), advice: None }
    }

    fn doubtful(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { about, state: State::Doubtful, found: found.into(), advice: Some(advice.into()) }
    }

    fn bad(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { about, state: State::Bad, found: found.into(), advice: Some(advice.into()) }
    }
}
