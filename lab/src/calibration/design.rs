//! How much is run in a trial.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CalibrationOptions;
use crate::comparison::Outcome;
use crate::figures::Figure;
use crate::statistics::{Cost, Design};
use crate::workload::Service;

/// What the pilot has shown, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pilot {
    /// The logarithms of the ratios of its pairs, by restart.
    pub ratios: Vec<Vec<f64>>,
    /// CPU time of the server per request, in microseconds.
    pub cpu_us_per_request: f64,
    /// How often the planted loop goes round for each request.
    pub spin_rounds: u32,
    /// The ratio of CPU time that rounds have made which take, by themselves, as long as the slowdown is.
    pub alone: f64,
    /// Restarts of a run that is to find the planted slowdown.
    pub restarts: usize,
    /// Pairs in each of them.
    pub pairs: usize,
    /// How likely such a run is to find it.
    pub predicted_power: f64,
    /// What it takes to start both servers, in seconds.
    pub start_seconds: f64,
}

impl Pilot {
    /// None if no run of a reasonable length is likely enough to find the
    /// slowdown.
    pub(super) fn new(
        options: &CalibrationOptions,
        outcome: &Outcome,
        took: Duration,
        round_ns: f64,
    ) -> Option<Self> {
        let cpu_us = outcome.systems.first()?.figures()?.value(Figure::PRIMARY)?;
        let ratios = outcome.log_ratios(1, Figure::PRIMARY);
        let ratio = options.planted_ratio();
        let slices = 2.0 * options.slice_seconds * (PILOT_PAIRS + 1) as f64;
        let start_seconds = (took.as_secs_f64() / options.pilot_restarts as f64 - slices).max(0.0);
        let cost = cost(options, start_seconds);
        let (design, predicted_power) = Design::for_power(options.power, &ratios, ratio, cost)?;
        Some(Self {
            cpu_us_per_request: cpu_us,
            spin_rounds: (cpu_us * 1e3 * (ratio - 1.0) / round_ns).round().max(1.0) as u32,
            alone: f64::NAN,
            restarts: design.restarts,
            pairs: design.pairs,
            predicted_power,
            start_seconds,
            ratios,
        })
    }

    /// Makes the loop as long as the slowdown needs it, since so long as it is it has made this ratio.
    pub(super) fn plant(&mut self, options: &CalibrationOptions, seen: f64) {
        let missing = options.planted_ratio().ln() / seen.ln();
        // By the machine's noise it may seem to have made nothing.
        let longer = if seen > 1.0 { missing.clamp(0.5, LONGER_MAX) } else { LONGER_MAX };
        self.spin_rounds = (f64::from(self.spin_rounds) * longer).round().max(1.0) as u32;
        self.alone = seen;
    }

    /// The planted loop.
    pub(super) const fn service(&self) -> Service {
        Service::Spin { rounds: self.spin_rounds }
    }

    /// What finds the planted slowdown.
    pub(super) const fn design(&self) -> Design {
        Design::new(self.restarts, self.pairs)
    }

    /// What fits into the time of a run without a difference.
    pub(super) fn design_of_seconds(&self, options: &CalibrationOptions) -> Design {
        let cost = cost(options, self.start_seconds);
        let each = options.seconds / RESTARTS as f64 - cost.restart;
        Design::new(RESTARTS, (each / cost.pair).floor().max(1.0) as usize)
    }
}

/// In seconds: to start two servers, a slice of each to warm up, and a slice of
/// each that counts.
fn cost(options: &CalibrationOptions, start_seconds: f64) -> Cost {
    Cost::new(start_seconds + 2.0 * options.slice_seconds, 2.0 * options.slice_seconds)
}

/// Pairs in each restart of the pilot.
pub(super) const PILOT_PAIRS: usize = 8;
const RESTARTS: usize = 6;
/// No server hides more than half of a loop.
const LONGER_MAX: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn pilot() -> Pilot {
        Pilot {
            ratios: Vec::new(),
            cpu_us_per_request: 5.0,
            spin_rounds: 100,
            alone: 1.03,
            restarts: 6,
            pairs: 4,
            predicted_power: 0.95,
            start_seconds: 0.2,
        }
    }

    #[test]
    fn a_loop_that_a_server_hides_in_part_is_made_longer() {
        let rounds = |seen| {
            let mut pilot = pilot();
            pilot.plant(&CalibrationOptions::default(), seen);
            pilot.spin_rounds
        };
        assert_eq!(rounds(1.03), 100);
        assert!((120..=130).contains(&rounds(1.024)));
        assert_eq!((rounds(1.001), rounds(0.99)), (200, 200));
        assert_eq!(rounds(1.2), 50);
    }

    #[test]
    fn a_run_of_so_many_seconds_takes_no_longer() {
        let (options, pilot) = (CalibrationOptions::default(), pilot());
        let design = pilot.design_of_seconds(&options);
        let seconds = design.seconds(cost(&options, 0.2));
        assert!((12.0..=15.0).contains(&seconds), "{seconds} s: {design:?}");
    }
}
