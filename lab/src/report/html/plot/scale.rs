//! From values to places on an axis, and the marks on it.

/// How values are spread over an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    Linear,
    /// Equal factors take equal room; for values above zero.
    Logarithmic,
}

/// An axis from `start` to `end` on the paper.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    spread: Spread,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// An axis on which all values have their place; they are widened to whole
    /// marks if they are linear.
    pub(super) fn new(spread: Spread, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let known = |value: &f64| value.is_finite() && (spread == Spread::Linear || *value > 0.0);
        let (low, high) = values
            .filter(known)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match spread {
            _ if low > high => (0.5, 1.5),
            Spread::Linear => widened(low, high),
            Spread::Logarithmic if low == high => (low / 1.5, high * 1.5),
            Spread::Logarithmic => (low, high),
        };
        Self { spread, low, high, start, end }
    }

    /// Where a value lies, at the edge if it is beyond.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share =
            (self.place(value) - self.place(self.low)) / (self.place(self.high) - self.place(self.low));
        self.start + share.clamp(0.0, 1.0) * (self.end - self.start)
    }

    pub(super) const fn start(&self) -> f64 {
        self.start
    }

    pub(super) const fn end(&self) -> f64 {
        self.end
    }

    /// Values to mark: round ones, not too many.
    pub(super) fn marks(&self) -> Vec<f64> {
        match self.spread {
            Spread::Linear => multiples(self.low, self.high, step(self.high - self.low)),
            Spread::Logarithmic if self.high / self.low < 8.0 => {
                multiples(self.low, self.high, step(self.high - self.low))
            }
            Spread::Logarithmic => decades(self.low, self.high),
        }
    }

    fn place(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Logarithmic => value.max(f64::MIN_POSITIVE).ln(),
        }
    }
}

/// A value as it is written at a mark.
pub(super) fn mark(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    if low == high {
        return (low - low.abs().max(1.0) * 0.5, high + high.abs().max(1.0) * 0.5);
    }
    let step = step(high - low);
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// The round number that parts such a width in four to nine.
fn step(width: f64) -> f64 {
    let rough = width / 5.0;
    let magnitude = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * magnitude >= rough);
    factor.unwrap_or(10.0) * magnitude
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - ROUNDING).ceil() as i64;
    let last = (high / step + ROUNDING).floor() as i64;
    (first..=last).map(|multiple| multiple as f64 * step).collect()
}

fn decades(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high / low > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|value| (low..=high).contains(value)).collect()
}

const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_axes_begin_and_end_at_marks() {
        let scale = Scale::new(Spread::Linear, [3.0, 97.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.marks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((scale.at(0.0), scale.at(50.0), scale.at(1e9)), (0.0, 50.0, 100.0));
    }

    #[test]
    fn equal_factors_are_equally_far_apart_on_a_logarithmic_axis() {
        let scale = Scale::new(Spread::Logarithmic, [1.0, 10_000.0].into_iter(), 0.0, 400.0);
        assert_eq!(scale.marks(), [1.0, 10.0, 100.0, 1000.0, 10_000.0]);
        assert!((scale.at(100.0) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_and_one_value_have_an_axis_too() {
        for values in [vec![], vec![f64::NAN], vec![7.0], vec![0.0]] {
            for spread in [Spread::Linear, Spread::Logarithmic] {
                let scale = Scale::new(spread, values.iter().copied(), 0.0, 10.0);
                assert!(scale.at(7.0).is_finite());
                assert!(scale.marks().len() < 20);
            }
        }
    }

    #[test]
    fn marks_are_short() {
        assert_eq!([0.95, 1.0, 1500.0, 20_000.0, 1.5e6].map(mark), ["0.95", "1", "1500", "20k", "1.5M"]);
    }
}
