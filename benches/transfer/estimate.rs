//! A median with its 95 % interval, from the order of the samples alone.

use std::fmt;

/// What samples say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    low: f64,
    median: f64,
    high: f64,
}

impl Estimate {
    /// The median of these, and the ranks between which that of all lies in 95 of 100 cases.
    pub(crate) fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let count = samples.len() as f64;
        let reach = 0.98 * count.sqrt();
        let at = |rank: f64| samples[(rank.max(0.0) as usize).min(samples.len() - 1)];
        Self { low: at(count / 2.0 - reach), median: at(count / 2.0), high: at(count / 2.0 + reach) }
    }

    /// Both, with the widest interval that these two allow.
    pub(crate) fn plus(self, other: &Self) -> Self {
        Self { low: self.low + other.low, median: self.median + other.median, high: self.high + other.high }
    }

    /// The lesser of two bounds.
    pub(crate) fn least(self, other: Self) -> Self {
        if other.median < self.median { other } else { self }
    }

    /// One as often as the other says; neither is negative.
    pub(crate) fn times(self, other: Self) -> Self {
        Self { low: self.low * other.low, median: self.median * other.median, high: self.high * other.high }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} [{:.3}, {:.3}]", self.median, self.low, self.high)
    }
}
