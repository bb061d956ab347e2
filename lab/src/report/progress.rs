//! Progress on the standard error, where that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::comparison::{Outcome, Phase};
use crate::figures::{Figure, Figures};
use crate::generator::Slice;
use crate::generator::search::Step;
use crate::plan::Plan;
use crate::statistics::Resamples;

/// A bar that is gone when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    names: Vec<String>,
    noise_rounds: u64,
    /// Which row of an experiment it is, in words.
    row: String,
}

impl Progress {
    /// A bar for a comparison.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let is_fixed = plan.until.is_none() && plan.budget.is_none();
        let noise_rounds = plan.noise().map_or(0, |noise| noise.pairs) as u64;
        let rounds = is_fixed.then_some(plan.pairs as u64);
        Self {
            bar: bar(rounds.map(|rounds| noise_rounds + rounds)),
            names: plan.systems.iter().map(|system| system.name.to_owned()).collect(),
            noise_rounds,
            row: String::new(),
        }
    }

    /// A bar for one row of an experiment, counted from 0.
    #[must_use]
    pub fn of_row(plan: &Plan, index: usize, rows: usize, label: &str) -> Self {
        let mut progress = Self::new(plan);
        progress.row = format!("[{}/{rows}] {label}  ", index + 1);
        progress
    }

    /// A bar for a load of so many slices.
    #[must_use]
    pub fn of_load(slices: u64) -> Self {
        Self { bar: bar(Some(slices)), names: Vec::new(), noise_rounds: 0, row: String::new() }
    }

    /// A bar for so many whole runs.
    #[must_use]
    pub fn of_trials(trials: u64) -> Self {
        Self::of_load(trials)
    }

    /// Shows that something goes on.
    pub fn tick(&self) {
        self.bar.tick();
    }

    /// Shows that a run has ended.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Shows what is going on.
    pub fn says(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }

    /// A spinner for a search, the steps of which nobody knows.
    #[must_use]
    pub fn of_search() -> Self {
        Self { bar: bar(None), names: Vec::new(), noise_rounds: 0, row: String::new() }
    }

    /// Shows the last rate that was tried.
    pub fn rate(&self, step: &Step) {
        self.bar.inc(1);
        let kept = if step.kept { "kept" } else { "broken" };
        self.bar.set_message(format!("{:.0} requests/s: {:.0} us, {kept}", step.rate, step.latency_us));
    }

    /// Shows how narrow the intervals of the CPU per request are by now.
    pub fn round(&self, phase: Phase, outcome: &Outcome) {
        let before = if phase == Phase::Comparison { self.noise_rounds } else { 0 };
        self.bar.set_position(before + outcome.rounds() as u64);
        if self.bar.is_hidden() {
            return;
        }
        let mut message = match phase {
            Phase::Noise => format!("{}noise: {} against itself", self.row, self.names[0]),
            Phase::Comparison => format!("{}CPU/request", self.row),
        };
        for (system, name) in self.names.iter().enumerate().skip(1) {
            let Some(estimate) = outcome.estimate(system, Figure::PRIMARY, Resamples::Quick) else {
                continue;
            };
            let (low, high) = estimate.interval_95;
            let name = if phase == Phase::Noise { "" } else { name };
            message.push_str(&format!("  {name} {:.3} [{low:.3}, {high:.3}]", estimate.ratio));
            if phase == Phase::Noise {
                break;
            }
        }
        if let Some(failure) = outcome.failure(&self.names) {
            message.push_str("  FAILING: ");
            message.push_str(&failure);
        }
        self.bar.set_message(message);
    }

    /// Shows how a load goes.
    pub fn slice(&self, whole: &Slice) {
        self.bar.inc(1);
        let figures = Figures::new(whole, Default::default());
        let rate = figures.and_then(|figures| figures.value(Figure::RequestsPerSecond)).unwrap_or(0.0);
        let rate = Figure::RequestsPerSecond.show(rate);
        self.bar.set_message(format!("{rate} requests/s, {}", whole.faults));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn bar(steps: Option<u64>) -> ProgressBar {
    let (bar, template) = match steps {
        Some(steps) => (ProgressBar::new(steps), "{bar:24} {pos}/{len}  {msg}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {pos} pairs in {elapsed}  {msg}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.tick();
    bar
}
