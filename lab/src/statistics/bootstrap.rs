//! The hierarchical bootstrap: an estimate of a ratio, and how far it may be
//! off. The method and its corrections are explained [one level up](super).

use fastrand::Rng;

use super::student::{Confidence, quantile};

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
#[must_use]
pub fn estimate(restarts: &[Vec<f64>], resamples: Resamples, seed: u64) -> Option<Estimate> {
    let restarts: Vec<&[f64]> =
        restarts.iter().map(Vec::as_slice).filter(|pairs| !pairs.is_empty()).collect();
    let mut all: Vec<f64> = restarts.concat();
    let center = median(&mut all)?;
    let error = standard_error(&restarts, resamples.count(), &mut Rng::with_seed(seed));
    let interval = |confidence| {
        let width = quantile(confidence, restarts.len() - 1) * error;
        // No error times no certainty is neither.
        let width = if width.is_nan() { f64::INFINITY } else { width };
        ((center - width).exp(), (center + width).exp())
    };
    Some(Estimate {
        ratio: center.exp(),
        interval_95: interval(Confidence::P95),
        interval_99: interval(Confidence::P99),
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
fn median(values: &mut [f64]) -> Option<f64> {
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

    /// Standard normal, by the method of Box and Muller.
    fn normal(random: &mut Rng) -> f64 {
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * random.f64()).cos()
    }

    /// How large the spreads are, in units of the logarithm of the ratio.
    struct Machine {
        between_restarts: f64,
        between_pairs: f64,
        /// One pair of so many meets a disturbance ten times as large.
        disturbed: f64,
    }

    impl Machine {
        fn run(&self, truth: f64, random: &mut Rng) -> Vec<Vec<f64>> {
            let pair = |shift: f64, random: &mut Rng| {
                let disturbed = random.f64() < self.disturbed;
                let spread = self.between_pairs * if disturbed { 10.0 } else { 1.0 };
                shift + spread * normal(random)
            };
            (0..6)
                .map(|_| {
                    let shift = truth + self.between_restarts * normal(random);
                    (0..8).map(|_| pair(shift, random)).collect()
                })
                .collect()
        }

        /// How often of a hundred the intervals miss that there is no difference.
        fn misses(&self) -> (f64, f64) {
            const RUNS: u32 = 300;
            let mut random = Rng::with_seed(7);
            let (mut of_95, mut of_99) = (0, 0);
            for seed in 0..RUNS {
                let samples = self.run(0.0, &mut random);
                let estimate = estimate(&samples, Resamples::Quick, seed.into()).unwrap();
                let misses = |(low, high): (f64, f64)| u32::from(low > 1.0 || high < 1.0);
                of_95 += misses(estimate.interval_95);
                of_99 += misses(estimate.interval_99);
            }
            let percent = |count| f64::from(count) * 100.0 / f64::from(RUNS);
            (percent(of_95), percent(of_99))
        }
    }

    #[test]
    fn intervals_without_a_difference_miss_it_about_as_often_as_they_say() {
        let machine = |between_restarts, between_pairs, disturbed| Machine {
            between_restarts,
            between_pairs,
            disturbed,
        };
        for (machine, least) in [
            // Processes alike: the intervals are wider than need be, for the
            // spread of the pairs is the least that is assumed.
            (machine(0.0, 0.01, 0.0), 0.3),
            (machine(0.003, 0.01, 0.05), 0.6),
            (machine(0.01, 0.01, 0.05), 2.0),
            (machine(0.02, 0.01, 0.0), 2.0),
        ] {
            let (of_95, of_99) = machine.misses();
            assert!((least..=8.0).contains(&of_95), "95 %: {of_95} % missed");
            assert!(of_99 <= 2.0, "99 %: {of_99} % missed");
        }
    }

    #[test]
    fn three_percent_are_found() {
        let machine = Machine { between_restarts: 0.003, between_pairs: 0.012, disturbed: 0.05 };
        let mut random = Rng::with_seed(3);
        let found = (0..100).filter(|&seed| {
            let samples = machine.run(0.03, &mut random);
            let estimate = estimate(&samples, Resamples::Quick, seed).unwrap();
            estimate.interval_99.0 > 1.0
        });
        let found = found.count();
        assert!(found >= 95, "{found} of 100");
    }

    #[test]
    fn the_same_samples_and_seed_give_the_same_estimate() {
        let samples = [vec![0.01, 0.02, 0.03], vec![0.00, 0.04]];
        let first = estimate(&samples, Resamples::Quick, 5).unwrap();
        assert_eq!(estimate(&samples, Resamples::Quick, 5), Some(first));
        assert!((first.ratio - 0.02f64.exp()).abs() < 1e-12);
        assert_eq!(first.pairs, 5);
    }

    #[test]
    fn one_disturbed_pair_does_not_move_the_estimate() {
        let calm = [vec![0.01; 8], vec![0.01; 8]];
        let mut disturbed = calm.clone();
        disturbed[1][3] = 3.0;
        let ratio = |samples| estimate(samples, Resamples::Quick, 1).unwrap().ratio;
        assert_eq!(ratio(&calm), ratio(&disturbed));
    }

    #[test]
    fn a_single_restart_says_nothing_about_others() {
        let estimate = estimate(&[vec![0.01, 0.02]], Resamples::Quick, 1).unwrap();
        assert_eq!(estimate.interval_95, (0.0, f64::INFINITY));
    }

    #[test]
    fn there_is_no_estimate_without_pairs() {
        assert_eq!(estimate(&[Vec::new()], Resamples::Quick, 1), None);
        assert_eq!(estimate(&[], Resamples::Quick, 1), None);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
