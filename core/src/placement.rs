//! Placement: on which worker a new connection is served. The default [`Handoff`]: pure decisions over the permits
//! of all workers, no I/O.
//!
//! A decision takes the permit in the same step, by comparing the count that it was made on; when the count
//! has moved it is made again. So a burst cannot pile up on one worker that looked empty to everybody.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

use crate::handoff::{Handoff, Load, Reserved, Room};

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

impl Handoff for Placement {
    fn place<'a>(&self, me: usize, room: &Room<'a>, random: &mut Rng) -> Option<Reserved<'a>> {
        match *self {
            Self::LocalFirst => {
                room.reserve(me).or_else(|| least_loaded(room, random, |worker| worker != me))
            }
            Self::Even { slack } => even(me, slack, room, random),
            Self::RoundRobin => in_turn(room),
            Self::AlwaysOther => {
                least_loaded(room, random, |worker| worker != me).or_else(|| room.reserve(me))
            }
        }
    }
}

/// The allowed worker with room and the fewest permits taken. Of several, each is as likely, so that ties do
/// not all favour one worker.
fn least(room: &Room<'_>, random: &mut Rng, allowed: impl Fn(usize) -> bool) -> Option<Load> {
    let mut best: Option<Load> = None;
    let mut ties = 1;
    let loads = (0..room.workers()).filter(|&worker| allowed(worker)).map(|worker| room.load(worker));
    for load in loads.filter(Load::has_room) {
        let better = match best.map_or(Ordering::Less, |least| load.taken().cmp(&least.taken())) {
            Ordering::Less => {
                ties = 1;
                true
            }
            Ordering::Equal => {
                ties += 1;
                random.usize(..ties) == 0
            }
            Ordering::Greater => false,
        };
        if better {
            best = Some(load);
        }
    }
    best
}

fn least_loaded<'a>(
    room: &Room<'a>,
    random: &mut Rng,
    allowed: impl Fn(usize) -> bool,
) -> Option<Reserved<'a>> {
    for _ in 0..RETRIES_MAX {
        let least = least(room, random, &allowed)?;
        if let Some(reserved) = room.reserve_at(least) {
            return Some(reserved);
        }
    }
    (0..room.workers()).filter(|&worker| allowed(worker)).find_map(|worker| room.reserve(worker))
}

fn even<'a>(me: usize, slack: u32, room: &Room<'a>, random: &mut Rng) -> Option<Reserved<'a>> {
    for _ in 0..RETRIES_MAX {
        let least = least(room, random, |_| true)?;
        let mine = room.load(me);
        let stays = mine.has_room() && mine.taken() <= least.taken().saturating_add(slack);
        if let Some(reserved) = room.reserve_at(if stays { mine } else { least }) {
            return Some(reserved);
        }
    }
    least_loaded(room, random, |_| true)
}

fn in_turn<'a>(room: &Room<'a>) -> Option<Reserved<'a>> {
    let (workers, turn) = (room.workers(), room.next_turn());
    (0..workers).find_map(|step| room.reserve(turn.wrapping_add(step) % workers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Gates;

    fn keep(worker: usize) {
        panic!("a permit of worker {worker} was given back");
    }

    /// Takes a permit for ever.
    fn take(placement: Placement, me: usize, gates: &Gates, random: &mut Rng) -> Option<usize> {
        placement.place(me, &Room::new(gates, &keep), random).map(Reserved::spend)
    }

    fn taken(gates: &Gates) -> Vec<u32> {
        (0..gates.len()).map(|worker| gates.gate(worker).taken()).collect()
    }

    fn place(placement: Placement, workers: usize, limit: u32, accepted_by: &[usize]) -> Vec<u32> {
        let gates = Gates::new(workers, limit);
        let mut random = Rng::with_seed(7);
        for &me in accepted_by {
            take(placement, me, &gates, &mut random);
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
            let reserved = least_loaded(&Room::new(&gates, &keep), &mut random, |worker| worker != 0);
            hits[reserved.expect("room").spend() - 1] += 1;
        }
        assert!(hits.iter().all(|&count| (800..1200).contains(&count)), "{hits:?}");
    }

    #[test]
    fn bursts_from_all_workers_at_once_under_even_leave_a_difference_of_none() {
        for _ in 0..200 {
            let gates = Gates::new(4, 64);
            std::thread::scope(|scope| {
                for me in 0..4 {
                    let gates = &gates;
                    scope.spawn(move || {
                        let mut random = Rng::with_seed(me as u64);
                        for _ in 0..4 {
                            take(Placement::Even { slack: 0 }, me, gates, &mut random).expect("room");
                        }
                    });
                }
            });
            assert_eq!(taken(&gates), [4, 4, 4, 4]);
        }
    }
}
