//! Placement: on which worker a new connection is served. Pure decisions over the gates, no I/O.
//!
//! A decision takes the permit in the same step, by comparing the count that it was made on; when the count
//! has moved it is made again. So a burst cannot pile up on one worker that looked empty to everybody.

use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

use crate::admission::{Gates, Seen};
use crate::sync::{AtomicUsize, Ordering};

/// Where a new connection is served, as long as there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Where it was accepted; on the least loaded worker when that one is full. Moves nothing while there is
    /// room, so it is never worse than plain `SO_REUSEPORT`.
    #[default]
    LocalFirst,
    /// On the least loaded worker, when the accepting one has more than `slack` connections more than it. For
    /// few, long, heavy connections; with a slack of 0 they spread evenly.
    Even {
        /// How many connections of difference are tolerated.
        slack: u32,
    },
    /// On each worker in turn.
    RoundRobin,
    /// Never where it was accepted, if there is another worker with room: to measure what a transfer costs.
    AlwaysOther,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LocalFirst => f.write_str("local-first"),
            Self::Even { slack } => write!(f, "even:{slack}"),
            Self::RoundRobin => f.write_str("round-robin"),
            Self::AlwaysOther => f.write_str("always-other"),
        }
    }
}

/// A text that names no placement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no placement: local-first, even, even:SLACK, round-robin and always-other are")]
pub struct UnknownPlacement(String);

impl FromStr for Placement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, UnknownPlacement> {
        let unknown = || UnknownPlacement(text.into());
        match text {
            "local-first" => Ok(Self::LocalFirst),
            "even" => Ok(Self::Even { slack: 0 }),
            "round-robin" => Ok(Self::RoundRobin),
            "always-other" => Ok(Self::AlwaysOther),
            _ => {
                let slack = text.strip_prefix("even:").ok_or_else(unknown)?;
                Ok(Self::Even { slack: slack.parse().map_err(|_not_a_number| unknown())? })
            }
        }
    }
}

/// How many failed comparisons are made before any worker with room will do. Each failure means that another
/// worker has just taken or released a permit.
const RETRIES_MAX: usize = 64;

impl Placement {
    /// Takes a permit of the worker that shall serve a connection accepted by `me`, and says which it is;
    /// `None` when no worker has room.
    pub(crate) fn take(
        self,
        me: usize,
        gates: &Gates,
        turn: &AtomicUsize,
        random: &mut Rng,
    ) -> Option<usize> {
        match self {
            Self::LocalFirst if gates.gate(me).try_take() => Some(me),
            Self::LocalFirst => take_least(gates, random, |worker| worker != me),
            Self::Even { slack } => take_even(me, slack, gates, random),
            Self::RoundRobin => take_in_turn(gates, turn),
            Self::AlwaysOther => take_least(gates, random, |worker| worker != me)
                .or_else(|| gates.gate(me).try_take().then_some(me)),
        }
    }
}

/// The allowed worker with room and the fewest permits taken. Of several, each is as likely, so that ties do
/// not all favour one worker.
fn least(gates: &Gates, random: &mut Rng, allowed: impl Fn(usize) -> bool) -> Option<(usize, Seen)> {
    let mut best: Option<(usize, Seen)> = None;
    let mut ties = 1;
    for worker in (0..gates.len()).filter(|&worker| allowed(worker)) {
        let seen = gates.gate(worker).seen();
        if !gates.gate(worker).has_room(seen) {
            continue;
        }
        let better = match best {
            None => true,
            Some((_, least)) if seen.taken() == least.taken() => {
                ties += 1;
                random.usize(..ties) == 0
            }
            Some((_, least)) => {
                let less = seen.taken() < least.taken();
                ties = if less { 1 } else { ties };
                less
            }
        };
        if better {
            best = Some((worker, seen));
        }
    }
    best
}

fn take_least(gates: &Gates, random: &mut Rng, allowed: impl Fn(usize) -> bool) -> Option<usize> {
    for _ in 0..RETRIES_MAX {
        let (worker, seen) = least(gates, random, &allowed)?;
        if gates.gate(worker).try_take_at(seen).is_ok() {
            return Some(worker);
        }
    }
    (0..gates.len()).filter(|&worker| allowed(worker)).find(|&worker| gates.gate(worker).try_take())
}

fn take_even(me: usize, slack: u32, gates: &Gates, random: &mut Rng) -> Option<usize> {
    for _ in 0..RETRIES_MAX {
        let (least, least_seen) = least(gates, random, |_| true)?;
        let mine = gates.gate(me).seen();
        let stay = gates.gate(me).has_room(mine) && mine.taken() <= least_seen.taken().saturating_add(slack);
        let (worker, seen) = if stay { (me, mine) } else { (least, least_seen) };
        if gates.gate(worker).try_take_at(seen).is_ok() {
            return Some(worker);
        }
    }
    take_least(gates, random, |_| true)
}

fn take_in_turn(gates: &Gates, turn: &AtomicUsize) -> Option<usize> {
    let count = gates.len();
    let first = turn.fetch_add(1, Ordering::Relaxed) % count;
    (0..count).map(|step| (first + step) % count).find(|&worker| gates.gate(worker).try_take())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(gates: &Gates) -> Vec<u32> {
        (0..gates.len()).map(|worker| gates.gate(worker).taken()).collect()
    }

    fn place(placement: Placement, workers: usize, limit: u32, accepted_by: &[usize]) -> Vec<u32> {
        let gates = Gates::new(workers, limit);
        let turn = AtomicUsize::new(0);
        let mut random = Rng::with_seed(7);
        for &me in accepted_by {
            placement.take(me, &gates, &turn, &mut random);
        }
        taken(&gates)
    }

    #[test]
    fn local_first_stays_until_full_then_spreads_over_all_others() {
        assert_eq!(place(Placement::LocalFirst, 4, 8, &[1; 8]), [0, 8, 0, 0]);
        assert_eq!(place(Placement::LocalFirst, 4, 8, &[1; 17]), [3, 8, 3, 3]);
    }

    #[test]
    fn even_without_slack_spreads_one_each_whoever_accepts() {
        for me in 0..4 {
            assert_eq!(place(Placement::Even { slack: 0 }, 4, 8, &[me; 4]), [1, 1, 1, 1]);
        }
    }

    #[test]
    fn even_tolerates_its_slack() {
        assert_eq!(place(Placement::Even { slack: 2 }, 2, 8, &[0, 0, 0]), [3, 0]);
        assert_eq!(place(Placement::Even { slack: 2 }, 2, 8, &[0, 0, 0, 0]), [3, 1]);
    }

    #[test]
    fn round_robin_takes_turns_and_passes_over_the_full() {
        assert_eq!(place(Placement::RoundRobin, 3, 2, &[0; 5]), [2, 2, 1]);
        assert_eq!(place(Placement::RoundRobin, 3, 2, &[0; 9]), [2, 2, 2]);
    }

    #[test]
    fn always_other_moves_unless_nobody_else_has_room() {
        assert_eq!(place(Placement::AlwaysOther, 2, 2, &[0, 0]), [0, 2]);
        assert_eq!(place(Placement::AlwaysOther, 2, 2, &[0, 0, 0]), [1, 2]);
        assert_eq!(place(Placement::AlwaysOther, 1, 2, &[0]), [1]);
    }

    #[test]
    fn a_placement_reads_what_it_writes() {
        for text in ["local-first", "even:0", "even:7", "round-robin", "always-other"] {
            assert_eq!(text.parse::<Placement>().map(|placement| placement.to_string()), Ok(text.into()));
        }
        assert_eq!("even".parse(), Ok(Placement::Even { slack: 0 }));
        assert!("evenly".parse::<Placement>().is_err() && "even:-1".parse::<Placement>().is_err());
    }

    #[test]
    fn a_tie_does_not_favour_a_worker() {
        let mut random = Rng::with_seed(1);
        let mut hits = [0_u32; 3];
        for _ in 0..3000 {
            let gates = Gates::new(4, 8);
            let worker = take_least(&gates, &mut random, |worker| worker != 0).expect("room");
            hits[worker - 1] += 1;
        }
        assert!(hits.iter().all(|&count| (800..1200).contains(&count)), "{hits:?}");
    }

    #[test]
    fn bursts_from_all_workers_at_once_under_even_leave_a_difference_of_none() {
        for _ in 0..200 {
            let gates = Gates::new(4, 64);
            let turn = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for me in 0..4 {
                    let (gates, turn) = (&gates, &turn);
                    scope.spawn(move || {
                        let mut random = Rng::with_seed(me as u64);
                        for _ in 0..4 {
                            Placement::Even { slack: 0 }.take(me, gates, turn, &mut random).expect("room");
                        }
                    });
                }
            });
            assert_eq!(taken(&gates), [4, 4, 4, 4]);
        }
    }
}
