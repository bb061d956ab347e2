//! Progress on the standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::comparison::Outcome;
use crate::figures::{Figure, Figures};
use crate::generator::Slice;
use crate::statistics::Resamples;

/// A bar that is gone when this is dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A bar of so many steps.
    #[must_use]
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}  {eta} left") {
            bar.set_style(style);
        }
        bar.tick();
        Self(bar)
    }

    /// Shows how narrow the interval of the CPU per request is by now.
    pub fn pair(&self, outcome: &Outcome) {
        self.0.set_position(outcome.pairs_tried as u64);
        if self.0.is_hidden() {
            return;
        }
        let estimate = outcome.estimate(Figure::ServerCpu, Resamples::Quick);
        let mut message = estimate.map_or_else(String::new, |estimate| {
            let (low, high) = estimate.interval_95;
            format!("CPU/request B/A {:.3} [{low:.3}, {high:.3}]", estimate.ratio)
        });
        if let Some(failure) = outcome.failure() {
            message.push_str("  FAILING: ");
            message.push_str(&failure);
        }
        self.0.set_message(message);
    }

    /// Shows how a load goes.
    pub fn slice(&self, whole: &Slice) {
        self.0.inc(1);
        let figures = Figures::new(whole, Default::default());
        let rate = figures.map_or(0.0, |figures| figures.value(Figure::RequestsPerSecond));
        self.0.set_message(format!("{} requests/s, {}", Figure::RequestsPerSecond.show(rate), whole.faults));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
