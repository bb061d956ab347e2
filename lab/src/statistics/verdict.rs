//! What an estimate means, in words.

use super::Estimate;
use crate::figures::Figure;

/// What can be said about a ratio.
///
/// That two servers are equal is never concluded from a failure to find a
/// difference: the whole 95 % interval has to lie within the bound, which is
/// the test of two one-sided hypotheses at 2.5 % each.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// B differs from A: the 99 % interval excludes 1.
    Differs,
    /// The 95 % interval lies within so many percent of 1.
    NoLargerThan {
        /// 1 or 2.
        percent: f64,
    },
    /// Neither.
    Undecided {
        /// About how many more pairs, with restarts in proportion, would decide
        /// it if the estimate stays where it is.
        more_pairs: f64,
    },
}

impl Verdict {
    /// Judges an estimate.
    #[must_use]
    pub fn of(estimate: &Estimate) -> Self {
        let (low, high) = estimate.interval_99;
        if low > 1.0 || high < 1.0 {
            return Self::Differs;
        }
        let (low, high) = estimate.interval_95;
        let within = |percent: &f64| low >= 1.0 - percent / 100.0 && high <= 1.0 + percent / 100.0;
        match EQUIVALENCE_PERCENT.into_iter().find(within) {
            Some(percent) => Self::NoLargerThan { percent },
            None => Self::Undecided { more_pairs: more_pairs(estimate) },
        }
    }

    /// The verdict as a sentence about the server of that name.
    #[must_use]
    pub fn words(&self, server: &str, figure: Figure, estimate: &Estimate) -> String {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        let (low, high) = estimate.interval_95;
        let (verb, what) = figure.words();
        match self {
            Self::Differs if estimate.ratio < 1.0 => format!(
                "{server} {verb} {:.1} % less {what} [{:.1}, {:.1}]",
                -percent(estimate.ratio),
                -percent(high),
                -percent(low)
            ),
            Self::Differs => format!(
                "{server} {verb} {:.1} % more {what} [{:.1}, {:.1}]",
                percent(estimate.ratio),
                percent(low),
                percent(high)
            ),
            Self::NoLargerThan { percent } => format!("no difference larger than {percent} %"),
            Self::Undecided { .. } if high > low * UNKNOWN_FACTOR => {
                "undecided: nothing is known yet, would need far more pairs".to_owned()
            }
            Self::Undecided { more_pairs } => {
                let interval = format!("undecided: [{:+.1}, {:+.1}] %", percent(low), percent(high));
                if *more_pairs <= MORE_PAIRS_MAX {
                    format!("{interval}, would need about {more_pairs:.0} more pairs")
                } else {
                    format!("{interval}, would need far more pairs")
                }
            }
        }
    }
}

/// The number of pairs that would make the interval narrow enough either to
/// exclude 1 or to lie within the largest equivalence, whichever comes first.
fn more_pairs(estimate: &Estimate) -> f64 {
    let center = estimate.ratio.ln();
    let half_95 = estimate.interval_95.1.ln() - center;
    let half_99 = estimate.interval_99.1.ln() - center;
    let largest = EQUIVALENCE_PERCENT[EQUIVALENCE_PERCENT.len() - 1] / 100.0;
    let to_differ = half_99 / center.abs();
    let to_be_equal = half_95 / (largest.ln_1p() - center.abs()).max(0.0);
    let factor = to_differ.min(to_be_equal).powi(2);
    let pairs = estimate.pairs as f64;
    (pairs * (factor - 1.0)).ceil().max(1.0)
}

/// Differences that do not matter, the smaller first.
const EQUIVALENCE_PERCENT: [f64; 2] = [1.0, 2.0];
/// An interval whose ends are farther apart says nothing.
const UNKNOWN_FACTOR: f64 = 10.0;
/// More than anybody would run.
const MORE_PAIRS_MAX: f64 = 10_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ratio: f64, half_95: f64, half_99: f64) -> Estimate {
        Estimate {
            ratio,
            interval_95: (ratio - half_95, ratio + half_95),
            interval_99: (ratio - half_99, ratio + half_99),
            pairs: 48,
        }
    }

    fn words(figure: Figure, estimate: &Estimate) -> String {
        Verdict::of(estimate).words("B", figure, estimate)
    }

    #[test]
    fn a_difference_is_told_with_its_interval() {
        let less = estimate(0.959, 0.009, 0.02);
        assert_eq!(words(Figure::ServerCpu, &less), "B uses 4.1 % less CPU per request [3.2, 5.0]");
        let more = estimate(1.04, 0.01, 0.02);
        assert_eq!(
            words(Figure::RequestsPerSecond, &more),
            "B serves 4.0 % more requests per second [3.0, 5.0]"
        );
    }

    #[test]
    fn ninety_five_percent_are_not_enough_for_a_difference() {
        let verdict = Verdict::of(&estimate(0.96, 0.03, 0.05));
        assert!(matches!(verdict, Verdict::Undecided { .. }), "{verdict:?}");
    }

    #[test]
    fn equivalence_is_told_with_the_smallest_bound_that_holds() {
        let close = estimate(1.001, 0.008, 0.02);
        assert_eq!(words(Figure::ServerCpu, &close), "no difference larger than 1 %");
        let near = estimate(1.005, 0.012, 0.02);
        assert_eq!(words(Figure::P99, &near), "no difference larger than 2 %");
    }

    #[test]
    fn otherwise_it_says_how_much_more_would_be_needed() {
        let open = estimate(1.03, 0.03, 0.06);
        let text = words(Figure::ServerCpu, &open);
        assert!(text.starts_with("undecided: [+0.0, +6.0] %"), "{text}");
        let Verdict::Undecided { more_pairs } = Verdict::of(&open) else {
            panic!("{text}");
        };
        assert!((100.0..200.0).contains(&more_pairs), "{more_pairs}");
    }

    #[test]
    fn an_unbounded_interval_needs_far_more_pairs() {
        let unknown = Estimate {
            ratio: 1.0,
            interval_95: (0.0, f64::INFINITY),
            interval_99: (0.0, f64::INFINITY),
            pairs: 2,
        };
        let text = words(Figure::ServerCpu, &unknown);
        assert!(text.ends_with("far more pairs"), "{text}");
    }
}
