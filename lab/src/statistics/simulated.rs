//! Machines that exist only in tests: what they do to ratios is known, so the
//! statistics can be checked against it.

use fastrand::Rng;

use super::{Resamples, Verdict, estimate};

/// How large the spreads are, in units of the logarithm of the ratio.
#[derive(Clone, Copy)]
pub(super) struct Machine {
    pub(super) between_restarts: f64,
    pub(super) between_pairs: f64,
    /// The share of pairs that meet a disturbance ten times as large.
    pub(super) disturbed: f64,
}

impl Machine {
    /// The logarithms of the ratios of so many restarts of so many pairs.
    pub(super) fn restarts(
        &self,
        restarts: usize,
        pairs: usize,
        truth: f64,
        random: &mut Rng,
    ) -> Vec<Vec<f64>> {
        let pair = |shift: f64, random: &mut Rng| {
            let disturbed = random.f64() < self.disturbed;
            let spread = self.between_pairs * if disturbed { 10.0 } else { 1.0 };
            shift + spread * normal(random)
        };
        (0..restarts)
            .map(|_| {
                let shift = truth + self.between_restarts * normal(random);
                (0..pairs).map(|_| pair(shift, random)).collect()
            })
            .collect()
    }

    /// How often of a hundred the intervals miss that there is no difference.
    fn misses(&self) -> (f64, f64) {
        const RUNS: u32 = 200;
        let mut random = Rng::with_seed(7);
        let (mut of_95, mut of_99) = (0, 0);
        for seed in 0..RUNS {
            let samples = self.restarts(6, 8, 0.0, &mut random);
            let estimate = estimate(&samples, 1, Resamples::Quick, seed.into()).unwrap();
            let misses = |(low, high): (f64, f64)| u32::from(low > 1.0 || high < 1.0);
            of_95 += misses(estimate.interval_95);
            of_99 += misses(estimate.interval_99);
        }
        let percent = |count| f64::from(count) * 100.0 / f64::from(RUNS);
        (percent(of_95), percent(of_99))
    }
}

/// Standard normal, by the method of Box and Muller.
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[test]
fn intervals_without_a_difference_miss_it_about_as_often_as_they_say() {
    let machine =
        |between_restarts, between_pairs, disturbed| Machine { between_restarts, between_pairs, disturbed };
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
        let samples = machine.restarts(6, 8, 0.03, &mut random);
        let estimate = estimate(&samples, 1, Resamples::Quick, seed).unwrap();
        Verdict::of(&estimate) == Verdict::Differs
    });
    let found = found.count();
    assert!(found >= 95, "{found} of 100");
}

/// Four servers that are all the same, each compared with the first.
#[test]
fn many_comparisons_together_claim_no_more_than_one() {
    let machine = Machine { between_restarts: 0.01, between_pairs: 0.01, disturbed: 0.0 };
    let mut random = Rng::with_seed(9);
    let mut claims = |family| {
        let claims = (0..200).filter(|&seed| {
            let mut servers = || machine.restarts(6, 8, 0.0, &mut random);
            let first = servers();
            (0..3).any(|_| {
                let ratios = over(&servers(), &first);
                let (low, high) = estimate(&ratios, family, Resamples::Quick, seed).unwrap().interval_95;
                low > 1.0 || high < 1.0
            })
        });
        claims.count()
    };
    let (corrected, not) = (claims(3), claims(1));
    assert!(corrected <= 16, "{corrected} of 200 runs with a wrong 95 % interval");
    assert!(not > corrected, "{not} without the correction, {corrected} with it");
}

fn over(server: &[Vec<f64>], first: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let pairs = |(server, first): (&Vec<f64>, &Vec<f64>)| {
        server.iter().zip(first).map(|(server, first)| server - first).collect()
    };
    server.iter().zip(first).map(pairs).collect()
}
