//! When a run has measured enough: by the width of its interval, never by where
//! the interval lies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Estimate;

/// How narrow an interval has to be: the 95 % interval extends by no more than
/// so much to either side. Written as `1%` or `0.5 %`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Precision {
    percent: f64,
}

impl Precision {
    /// Whether an estimate is this precise.
    #[must_use]
    pub fn is_reached(self, estimate: &Estimate) -> bool {
        let (low, high) = estimate.interval_95;
        (high / low).sqrt() <= 1.0 + self.percent / 100.0
    }
}

impl FromStr for Precision {
    type Err = NotAPrecision;

    fn from_str(text: &str) -> Result<Self, NotAPrecision> {
        let number = text.trim().strip_suffix('%').map(|number| number.trim().parse());
        match number {
            Some(Ok(percent)) if (PERCENT_MIN..=PERCENT_MAX).contains(&percent) => Ok(Self { percent }),
            _ => Err(NotAPrecision { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for Precision {
    type Error = NotAPrecision;

    fn try_from(text: String) -> Result<Self, NotAPrecision> {
        text.parse()
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> Self {
        precision.to_string()
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

/// A precision that cannot be understood, or not reached.
#[derive(Clone, Debug, thiserror::Error)]
#[error("a precision is a share from {PERCENT_MIN}% to {PERCENT_MAX}%, such as 1%, and not `{text}`")]
pub struct NotAPrecision {
    text: String,
}

const PERCENT_MIN: f64 = 0.01;
const PERCENT_MAX: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::super::simulated::Machine;
    use super::super::{Resamples, Verdict, estimate};
    use super::*;

    #[test]
    fn a_precision_is_read_as_it_is_written() {
        let precision: Precision = "0.5 %".parse().unwrap();
        assert_eq!(precision.to_string(), "0.5%");
        for wrong in ["", "1", "%", "0%", "-1%", "101%", "NaN%", "inf%"] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
    }

    /// Runs restart after restart until the interval is narrow, or forty are done.
    fn run(machine: &Machine, truth: f64, seed: u64) -> (usize, Estimate) {
        let precision: Precision = "1%".parse().unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        let mut restarts = machine.restarts(6, 8, truth, &mut random);
        loop {
            let estimate = estimate(&restarts, 1, Resamples::Quick, seed).unwrap();
            if precision.is_reached(&estimate) || restarts.len() == 40 {
                return (restarts.len(), estimate);
            }
            restarts.extend(machine.restarts(1, 8, truth, &mut random));
        }
    }

    #[test]
    fn stopping_at_a_width_claims_no_more_than_it_may() {
        let machine = Machine { between_restarts: 0.01, between_pairs: 0.01, disturbed: 0.05 };
        let runs: Vec<_> = (0..120).map(|seed| run(&machine, 0.0, seed)).collect();
        let claims = runs.iter().filter(|(_, estimate)| Verdict::of(estimate) == Verdict::Differs);
        assert!(claims.count() <= 4);
        assert!(runs.iter().any(|(restarts, _)| *restarts > 6), "every run stopped at once");
        assert!(runs.iter().all(|(restarts, _)| *restarts < 40), "a run never became narrow");
    }

    #[test]
    fn a_difference_does_not_stop_a_run_that_is_not_narrow_yet() {
        let machine = Machine { between_restarts: 0.03, between_pairs: 0.03, disturbed: 0.0 };
        let (restarts, estimate) = run(&machine, 0.5, 1);
        assert_eq!(Verdict::of(&estimate), Verdict::Differs);
        assert!(restarts > 6, "{restarts}");
    }
}
