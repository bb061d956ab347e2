//! How likely a run is to find a difference, before it is run: it is simulated
//! many times from the pairs of a pilot, and judged as a real one would be.

use fastrand::Rng;

use super::bootstrap::median;
use super::{Resamples, Verdict, estimate};

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Design {
    /// How often the servers are started.
    pub restarts: usize,
    /// Pairs in each restart.
    pub pairs: usize,
}

/// What a restart and a pair cost, in seconds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Cost {
    /// To start the servers and to warm up.
    pub restart: f64,
    /// One slice of each server.
    pub pair: f64,
}

impl Cost {
    /// The cost of a restart and of a pair, in seconds.
    #[must_use]
    pub const fn new(restart: f64, pair: f64) -> Self {
        Self { restart, pair }
    }
}

impl Design {
    /// So many restarts of so many pairs.
    #[must_use]
    pub const fn new(restarts: usize, pairs: usize) -> Self {
        Self { restarts, pairs }
    }

    /// The probability that a difference of this ratio is found, on a machine
    /// on which these were the ratios (as logarithms, grouped by restart) of a
    /// server to itself.
    #[must_use]
    pub fn power(self, pilot: &[Vec<f64>], ratio: f64) -> f64 {
        self.found(pilot, ratio, RUNS, 2)
    }

    /// The share of so many simulated runs that find it.
    fn found(self, pilot: &[Vec<f64>], ratio: f64, runs: u64, seed: u64) -> f64 {
        let pilot = Pilot::new(pilot);
        let mut random = Rng::with_seed(seed);
        let found = (0..runs).filter(|&run| {
            let restarts = pilot.run(self, ratio.ln(), &mut random);
            let estimate = estimate(&restarts, 1, Resamples::Quick, run);
            estimate.is_some_and(|estimate| Verdict::of(&estimate) == Verdict::Differs)
        });
        found.count() as f64 / runs as f64
    }

    /// How long it takes, in seconds.
    #[must_use]
    pub fn seconds(self, cost: Cost) -> f64 {
        self.restarts as f64 * (cost.restart + self.pairs as f64 * cost.pair)
    }

    /// The shortest run that finds a difference of this ratio with this
    /// probability, and how likely it is to; none if the longest that is considered
    /// does not.
    #[must_use]
    pub fn for_power(power: f64, pilot: &[Vec<f64>], ratio: f64, cost: Cost) -> Option<(Self, f64)> {
        let mut all: Vec<_> = RESTARTS
            .iter()
            .flat_map(|&restarts| PAIRS.iter().map(move |&pairs| Self { restarts, pairs }))
            .collect();
        all.sort_by(|one, other| one.seconds(cost).total_cmp(&other.seconds(cost)));
        // A glance is enough for most. Whoever was lucky in it has to show it again.
        let at_a_glance = |design: &Self| design.found(pilot, ratio, GLANCE, 1) >= power;
        let with_power = |design: Self| (design, design.power(pilot, ratio));
        all.into_iter().filter(at_a_glance).map(with_power).find(|&(_, shown)| shown >= power)
    }
}

/// What was seen of a machine, as restarts to draw from.
struct Pilot {
    restarts: Vec<Restart>,
}

struct Restart {
    /// How far its median is from no difference.
    shift: f64,
    /// How far its pairs are from its median.
    pairs: Vec<f64>,
}

impl Pilot {
    /// A few values vary less than what they were drawn from; that is made up
    /// for, for the restarts and for the pairs of each.
    fn new(restarts: &[Vec<f64>]) -> Self {
        let restarts: Vec<_> = restarts.iter().filter(|pairs| !pairs.is_empty()).collect();
        let wider = |count: usize| (count as f64 / (count.max(2) - 1) as f64).sqrt();
        let of_restart = |pairs: &&Vec<f64>| {
            let center = median(&mut pairs.to_vec()).unwrap_or(0.0);
            Restart {
                shift: center * wider(restarts.len()),
                pairs: pairs.iter().map(|pair| (pair - center) * wider(pairs.len())).collect(),
            }
        };
        Self { restarts: restarts.iter().map(of_restart).collect() }
    }

    fn run(&self, design: Design, truth: f64, random: &mut Rng) -> Vec<Vec<f64>> {
        if self.restarts.is_empty() {
            return Vec::new();
        }
        let restart = |_| {
            let restart = &self.restarts[random.usize(..self.restarts.len())];
            let pair = |_| truth + restart.shift + restart.pairs[random.usize(..restart.pairs.len())];
            (0..design.pairs).map(pair).collect()
        };
        (0..design.restarts).map(restart).collect()
    }
}

/// So many simulated runs tell a power of 0.95 to about 0.007.
const RUNS: u64 = 1_000;
const GLANCE: u64 = 200;
/// Fewer restarts than six say too little about how processes differ.
const RESTARTS: [usize; 10] = [6, 8, 10, 12, 15, 18, 22, 28, 36, 48];
/// Fewer pairs than four leave a disturbed one where it moves the median.
const PAIRS: [usize; 7] = [4, 6, 8, 12, 16, 24, 32];

#[cfg(test)]
mod tests {
    use super::super::simulated::Machine;
    use super::*;

    const COST: Cost = Cost::new(0.8, 0.6);

    fn found(design: Design, machine: &Machine, runs: u64) -> usize {
        let mut random = Rng::with_seed(5);
        let found = (0..runs).filter(|&seed| {
            let restarts = machine.restarts(design.restarts, design.pairs, 1.03f64.ln(), &mut random);
            let estimate = estimate(&restarts, 1, Resamples::Quick, seed).unwrap();
            Verdict::of(&estimate) == Verdict::Differs
        });
        found.count()
    }

    #[test]
    fn a_design_finds_what_it_was_chosen_to_find() {
        for machine in [
            Machine { between_restarts: 0.012, between_pairs: 0.012, disturbed: 0.05 },
            Machine { between_restarts: 0.003, between_pairs: 0.02, disturbed: 0.0 },
        ] {
            let pilot = machine.restarts(24, 8, 0.0, &mut Rng::with_seed(11));
            let (design, _) = Design::for_power(0.95, &pilot, 1.03, COST).unwrap();
            let found = found(design, &machine, 200);
            assert!(found >= 180, "{found} of 200 with {design:?}");
        }
    }

    #[test]
    fn without_a_difference_hardly_anything_is_found() {
        let machine = Machine { between_restarts: 0.01, between_pairs: 0.01, disturbed: 0.0 };
        let pilot = machine.restarts(24, 8, 0.0, &mut Rng::with_seed(2));
        assert!(Design::new(8, 4).power(&pilot, 1.0) <= 0.05);
    }

    #[test]
    fn no_design_is_enough_on_a_wild_machine_and_none_is_made_of_nothing() {
        let wild = Machine { between_restarts: 1.0, between_pairs: 1.0, disturbed: 0.0 };
        let pilot = wild.restarts(6, 4, 0.0, &mut Rng::with_seed(2));
        assert!(Design::new(48, 4).power(&pilot, 1.03) < 0.5);
        assert_eq!(Design::new(6, 4).power(&[], 1.03), 0.0);
    }
}
