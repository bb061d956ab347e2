//! The hierarchical bootstrap: an estimate of a ratio, and how far it may be
//! off. The method and its corrections are explained [one level up](super).

use fastrand::Rng;

use super::student::quantile;

/// A ratio B/A with its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The median over all pairs.
    pub ratio: f64,
    /// The interval that contains the true ratio with 95 % confidence.
    pub interval_95: (f64, f64),
    /// The interval that contains the true ratio with 99 % confidence.
    pub interval_99: (f64, f64),
    /// Pairs that it is made from.
    pub pairs: usize,
}

/// How often the bootstrap draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resamples {
    /// Enough for a progress bar.
    Quick,
    /// Enough for a result: the standard error is good to one percent.
    Thorough,
}

impl Resamples {
    const fn count(self) -> usize {
        match self {
            Self::Quick => 300,
            Self::Thorough => 4000,
        }
    }
}

/// Estimates the ratio from the logarithms of the ratios of the pairs, grouped
/// by restart; none without a pair.
///
/// `family` is how many ratios are looked at together: the intervals are wide
/// enough to hold for all of them at once.
#[must_use]
pub fn estimate(restarts: &[Vec<f64>], family: usize, resamples: Resamples, seed: u64) -> Option<Estimate> {
    let restarts: Vec<&[f64]> =
        restarts.iter().map(Vec::as_slice).filter(|pairs| !pairs.is_empty()).collect();
    let mut all: Vec<f64> = restarts.concat();
    let center = median(&mut all)?;
    let error = standard_error(&restarts, resamples.count(), &mut Rng::with_seed(seed));
    let interval = |confidence: f64| {
        let corrected = 1.0 - (1.0 - confidence) / family.max(1) as f64;
        let width = quantile(corrected, restarts.len() - 1) * error;
        // No error times no certainty is neither.
        let width = if width.is_nan() { f64::INFINITY } else { width };
        ((center - width).exp(), (center + width).exp())
    };
    Some(Estimate {
        ratio: center.exp(),
        interval_95: interval(0.95),
        interval_99: interval(0.99),
        pairs: all.len(),
    })
}

fn standard_error(restarts: &[&[f64]], count: usize, random: &mut Rng) -> f64 {
    let groups = restarts.len() as f64;
    let of_pairs = variance(count, |sample| {
        for pairs in restarts {
            draw(pairs, sample, random);
        }
    });
    let of_both = variance(count, |sample| {
        for _ in restarts {
            draw(restarts[random.usize(..restarts.len())], sample, random);
        }
    });
    let of_restarts = (of_both - of_pairs) * groups / (groups - 1.0);
    // A single restart has no spread: the maximum ignores the NaN.
    of_restarts.max(of_pairs).sqrt()
}

/// Adds as many pairs to the sample as there are, drawn with replacement.
fn draw(pairs: &[f64], sample: &mut Vec<f64>, random: &mut Rng) {
    for _ in pairs {
        sample.push(pairs[random.usize(..pairs.len())]);
    }
}

/// The variance of the median over so many samples.
fn variance(count: usize, mut fill: impl FnMut(&mut Vec<f64>)) -> f64 {
    let mut sample = Vec::new();
    let (mut sum, mut squares, mut drawn) = (0.0, 0.0, 0.0);
    for _ in 0..count {
        sample.clear();
        fill(&mut sample);
        if let Some(median) = median(&mut sample) {
            sum += median;
            squares += median * median;
            drawn += 1.0;
        }
    }
    let mean: f64 = sum / drawn;
    (squares / drawn - mean * mean).max(0.0)
}

/// The median; reorders the values.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if is_even => Some(f64::midpoint(lower, upper)),
        _ => Some(upper),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_samples_and_seed_give_the_same_estimate() {
        let samples = [vec![0.01, 0.02, 0.03], vec![0.00, 0.04]];
        let first = estimate(&samples, 1, Resamples::Quick, 5).unwrap();
        assert_eq!(estimate(&samples, 1, Resamples::Quick, 5), Some(first));
        assert!((first.ratio - 0.02f64.exp()).abs() < 1e-12);
        assert_eq!(first.pairs, 5);
    }

    #[test]
    fn one_disturbed_pair_does_not_move_the_estimate() {
        let calm = [vec![0.01; 8], vec![0.01; 8]];
        let mut disturbed = calm.clone();
        disturbed[1][3] = 3.0;
        let ratio = |samples| estimate(samples, 1, Resamples::Quick, 1).unwrap().ratio;
        assert_eq!(ratio(&calm), ratio(&disturbed));
    }

    #[test]
    fn a_single_restart_says_nothing_about_others() {
        let estimate = estimate(&[vec![0.01, 0.02]], 1, Resamples::Quick, 1).unwrap();
        assert_eq!(estimate.interval_95, (0.0, f64::INFINITY));
    }

    #[test]
    fn there_is_no_estimate_without_pairs() {
        assert_eq!(estimate(&[Vec::new()], 1, Resamples::Quick, 1), None);
        assert_eq!(estimate(&[], 1, Resamples::Quick, 1), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
