//! A ratio and what it means, as it is written down.

use serde::{Deserialize, Serialize};

use crate::comparison::Outcome;
use crate::figures::Figure;
use crate::generator::Busy;
use crate::statistics::{Estimate, Resamples, Verdict};

/// A figure of one server over that of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The median over all pairs.
    pub median: Option<f64>,
    /// The lower end of the 95 % interval.
    pub low: Option<f64>,
    /// The upper end of the 95 % interval.
    pub high: Option<f64>,
    /// The lower end of the 99 % interval.
    pub low_99: Option<f64>,
    /// The upper end of the 99 % interval.
    pub high_99: Option<f64>,
    /// The pairs that it is made from.
    pub pairs: usize,
    /// Whether a difference is claimed, equality is, or neither.
    pub finding: Finding,
    /// What it means, in words.
    pub verdict: String,
}

/// The verdict for a program to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// The 99 % interval excludes 1.
    Different,
    /// The 95 % interval lies within a bound around 1.
    Equivalent,
    /// Neither.
    Undecided,
    /// There was nothing to measure.
    Unknown,
    /// Requests were lost.
    Failed,
    /// A server had to wait for its clients, so that this is theirs and not its.
    ClientsAreTheLimit,
}

impl Ratio {
    /// The ratio of a server of the outcome to the first one, said about the
    /// server of that name.
    pub(super) fn new(outcome: &Outcome, system: usize, name: &str, figure: Figure) -> Self {
        let failure = [0, system].into_iter().find_map(|system| outcome.systems[system].failure());
        if let Some(failure) = failure {
            return Self::without(Finding::Failed, format!("failed: {failure}"));
        }
        let clients_are_the_limit =
            |system: usize| outcome.busy(system).is_some_and(Busy::generator_is_the_limit);
        if figure.depends_on_the_clients() && [0, system].into_iter().any(clients_are_the_limit) {
            return Self::without(
                Finding::ClientsAreTheLimit,
                "not said: the clients are the limit".to_owned(),
            );
        }
        match outcome.estimate(system, figure, Resamples::Thorough) {
            Some(estimate) => Self::of(&estimate, name, figure),
            None => Self::without(Finding::Unknown, "not measured".to_owned()),
        }
    }

    fn of(estimate: &Estimate, name: &str, figure: Figure) -> Self {
        let verdict = Verdict::of(estimate);
        Self {
            median: Some(estimate.ratio),
            low: Some(estimate.interval_95.0),
            high: Some(estimate.interval_95.1),
            low_99: Some(estimate.interval_99.0),
            high_99: Some(estimate.interval_99.1),
            pairs: estimate.pairs,
            finding: match verdict {
                Verdict::Differs => Finding::Different,
                Verdict::NoLargerThan { .. } => Finding::Equivalent,
                Verdict::Undecided { .. } => Finding::Undecided,
            },
            verdict: verdict.words(name, figure, estimate),
        }
    }

    const fn without(finding: Finding, verdict: String) -> Self {
        Self { median: None, low: None, high: None, low_99: None, high_99: None, pairs: 0, finding, verdict }
    }

    /// The verdict for a table, in which the reason of a failure would take too
    /// much room.
    #[must_use]
    pub fn short_verdict(&self) -> String {
        match self.finding {
            Finding::Failed => "FAILED".to_owned(),
            _ => self.verdict.clone(),
        }
    }

    /// The ratio with both ends of its 95 % interval, if they are known and
    /// bounded.
    #[must_use]
    pub fn bounds(&self) -> Option<(f64, f64, f64)> {
        let bounds = (self.low?, self.median?, self.high?);
        (bounds.0 > 0.0 && bounds.2.is_finite()).then_some(bounds)
    }
}
