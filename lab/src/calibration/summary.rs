//! What the trials came to.

use serde::Serialize;

use super::{CalibrationOptions, Kind, Pilot, Trial};
use crate::environment::Machine;

/// A finished calibration.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The machine and the software.
    pub environment: Machine,
    /// What was tried.
    pub options: CalibrationOptions,
    /// What the pilot has shown.
    pub pilot: Pilot,
    /// Runs without a difference.
    pub same: Count,
    /// Runs with the planted one.
    pub slower: Count,
    /// The trials.
    pub trials: Vec<Trial>,
}

/// Trials of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Count {
    /// How many.
    pub runs: usize,
    /// How many of them claimed a difference.
    pub claims: usize,
    /// The median of the ratios that they found.
    pub median_ratio: f64,
    /// The median of how far the 95 % interval goes to either side, in percent.
    pub median_half_width_percent: f64,
    /// The median of how long they took.
    pub median_seconds: f64,
}

impl Summary {
    /// Counts the trials with a number below that of the runs.
    #[must_use]
    pub fn new(options: &CalibrationOptions, pilot: &Pilot, trials: &[Trial], environment: Machine) -> Self {
        let trials: Vec<_> = trials.iter().filter(|trial| trial.number < options.runs).copied().collect();
        Self {
            environment,
            options: options.clone(),
            pilot: pilot.clone(),
            same: Count::new(&trials, Kind::Same),
            slower: Count::new(&trials, Kind::Slower),
            trials,
        }
    }

    /// Whether at most 5 of 100 runs claimed a difference where there was none.
    #[must_use]
    pub const fn is_honest(&self) -> bool {
        self.same.claims * 100 <= self.same.runs * FALSE_PERCENT_MAX
    }

    /// Whether at least 90 of 100 runs found the one that was there.
    #[must_use]
    pub const fn is_sharp(&self) -> bool {
        self.slower.claims * 100 >= self.slower.runs * FOUND_PERCENT_MIN
    }

    /// How far it is.
    #[must_use]
    pub fn short(&self) -> String {
        let (same, slower) = (&self.same, &self.slower);
        format!("{} of {} false, {} of {} found", same.claims, same.runs, slower.claims, slower.runs)
    }

    /// The summary in words.
    #[must_use]
    pub fn words(&self) -> String {
        let (options, pilot) = (&self.options, &self.pilot);
        let both = [
            (&self.same, format!("{} against itself", options.system)),
            (
                &self.slower,
                format!(
                    "{} against itself with {} rounds of a loop for each request, made for {} % of {:.2} us (what \
                     takes so long alone made {:.1} %), {} restarts of {} pairs, predicted power {:.3}",
                    options.system,
                    pilot.spin_rounds,
                    options.slowdown_percent,
                    pilot.cpu_us_per_request,
                    (pilot.alone - 1.0) * 100.0,
                    pilot.restarts,
                    pilot.pairs,
                    pilot.predicted_power,
                ),
            ),
        ];
        let bounds = [
            format!("at most {FALSE_PERCENT_MAX} of 100 may"),
            format!("at least {FOUND_PERCENT_MIN} of 100 must"),
        ];
        let tried = both.iter().zip(bounds).filter(|((count, _), _)| count.runs > 0);
        let paragraphs = tried.map(|((count, what), bound)| {
            format!(
                "{what}:\n  {} of {} runs of {:.1} s claim a difference in CPU per request ({bound})\n  \
                 median ratio {:.4}, 95 % interval +-{:.2} %",
                count.claims,
                count.runs,
                count.median_seconds,
                count.median_ratio,
                count.median_half_width_percent,
            )
        });
        paragraphs.collect::<Vec<_>>().join("\n")
    }
}

impl Count {
    fn new(trials: &[Trial], kind: Kind) -> Self {
        let trials: Vec<_> = trials.iter().filter(|trial| trial.kind == kind).collect();
        let median = |value: fn(&Trial) -> f64| {
            let mut values: Vec<_> = trials.iter().map(|trial| value(trial)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        Self {
            runs: trials.len(),
            claims: trials.iter().filter(|trial| trial.claims).count(),
            median_ratio: median(|trial| trial.ratio),
            median_half_width_percent: median(|trial| {
                ((trial.interval_95.1 / trial.interval_95.0).sqrt() - 1.0) * 100.0
            }),
            median_seconds: median(|trial| trial.seconds),
        }
    }
}

const FALSE_PERCENT_MAX: usize = 5;
const FOUND_PERCENT_MIN: usize = 90;

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(kind: Kind, number: usize, claims: bool) -> Trial {
        let (interval_95, interval_99) = ((0.99, 1.01), (0.98, 1.02));
        Trial { kind, number, ratio: 1.0, interval_95, interval_99, claims, seconds: 15.0 }
    }

    fn summary(false_claims: usize, found: usize) -> Summary {
        let trials: Vec<_> = (0..20)
            .flat_map(|number| {
                let same = trial(Kind::Same, number, number < false_claims);
                [same, trial(Kind::Slower, number, number < found)]
            })
            .collect();
        let pilot = Pilot {
            ratios: Vec::new(),
            cpu_us_per_request: 5.0,
            spin_rounds: 300,
            alone: 1.02,
            restarts: 10,
            pairs: 8,
            predicted_power: 0.96,
            start_seconds: 0.2,
        };
        let options = CalibrationOptions { runs: 20, ..CalibrationOptions::default() };
        Summary::new(&options, &pilot, &trials, Machine::look())
    }

    #[test]
    fn at_most_five_false_claims_and_at_least_ninety_findings_of_a_hundred() {
        assert!(summary(1, 18).is_honest() && summary(1, 18).is_sharp());
        assert!(!summary(2, 18).is_honest());
        assert!(!summary(1, 17).is_sharp());
        assert!(summary(1, 17).words().contains("17 of 20 runs"));
    }

    #[test]
    fn trials_beyond_the_runs_do_not_count() {
        let all = summary(0, 20);
        let options = CalibrationOptions { runs: 5, ..all.options.clone() };
        let fewer = Summary::new(&options, &all.pilot, &all.trials, all.environment);
        assert_eq!((fewer.same.runs, fewer.slower.runs), (5, 5));
    }
}
