//! One word per worker: how many permits are taken, whether somebody waits, whether the worker has left.
//!
//! Everything that decides between a release and a park is one atomic operation on one word. So no wake is
//! lost: either the release comes first, and the park finds room; or the flag does, and the release sees it.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

const TAKEN: u64 = 0xffff_ffff;
/// Somebody waits in the line: a permit that is given back goes there. Set and cleared only under the line's lock.
const WAIT: u64 = 1 << 62;
/// The worker has left, or died: nothing is admitted any more. Never cleared.
const CLOSED: u64 = 1 << 63;

/// The gates of all workers.
#[derive(Debug)]
pub(crate) struct Gates {
    gates: Box<[CachePadded<Gate>]>,
    /// Whose turn it is, for who places in turn.
    turn: CachePadded<AtomicUsize>,
}

impl Gates {
    /// A gate for each worker, each with the same limit.
    pub(crate) fn new(workers: usize, limit: u32) -> Self {
        let gates = (0..workers).map(|_| CachePadded::new(Gate::new(limit))).collect();
        Self { gates, turn: CachePadded::new(AtomicUsize::new(0)) }
    }

    pub(crate) fn gate(&self, worker: usize) -> &Gate {
        &self.gates[worker]
    }

    pub(crate) fn len(&self) -> usize {
        self.gates.len()
    }

    pub(crate) fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }
}

/// One worker's word, in a cache line of its own.
#[derive(Debug)]
pub(crate) struct Gate {
    word: AtomicU64,
    /// Stored only under the line's lock.
    limit: AtomicU32,
}

/// What a gate looked like a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    pub(crate) fn taken(self) -> u32 {
        u32::try_from(self.0 & TAKEN).unwrap_or(u32::MAX)
    }

    fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

impl Gate {
    fn new(limit: u32) -> Self {
        Self { word: AtomicU64::new(0), limit: AtomicU32::new(limit) }
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen(self.word.load(Ordering::Relaxed))
    }

    /// How many permits are taken, forced ones included.
    pub(crate) fn taken(&self) -> u32 {
        self.seen().taken()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Whether the worker is there.
    pub(crate) fn is_open(&self) -> bool {
        !self.seen().has(CLOSED)
    }

    /// Whether a permit could be taken of a gate that looks like this: newcomers do not pass who waits.
    pub(crate) fn has_room(&self, seen: Seen) -> bool {
        !seen.has(CLOSED | WAIT) && seen.taken() < self.limit()
    }

    /// Takes a permit if there is room: on the path of a connection that is served where it was accepted, this
    /// is the one atomic operation.
    pub(crate) fn try_take(&self) -> bool {
        let mut seen = self.seen();
        while self.has_room(seen) {
            match self.try_take_at(seen) {
                Ok(()) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Takes a permit only if the gate still looks as it was seen: a decision by comparison holds at the moment
    /// it takes effect, and two workers that decide at once cannot both act on the same count.
    pub(crate) fn try_take_at(&self, seen: Seen) -> Result<(), Seen> {
        self.replace(seen, seen.0 + 1, Ordering::Acquire)
    }

    /// Takes a permit over the limit; not of a closed gate.
    pub(crate) fn force_take(&self) -> bool {
        let mut seen = self.seen();
        while !seen.has(CLOSED) {
            match self.try_take_at(seen) {
                Ok(()) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Gives a permit back; `false`, and nothing is given back, when somebody waits for it.
    pub(crate) fn try_release(&self) -> bool {
        let mut seen = self.seen();
        while !seen.has(WAIT) {
            match self.replace(seen, seen.0.wrapping_sub(1), Ordering::Release) {
                Ok(()) => {
                    debug_assert!(seen.taken() > 0, "a permit was released that nobody had taken");
                    return true;
                }
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Closes the gate for ever, if no permit is taken and nobody waits. A worker leaves only after this has
    /// succeeded, so that nothing can be on its way to it.
    pub(crate) fn try_close(&self) -> bool {
        self.word.compare_exchange(0, CLOSED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn replace(&self, seen: Seen, new: u64, success: Ordering) -> Result<(), Seen> {
        self.word.compare_exchange_weak(seen.0, new, success, Ordering::Relaxed).map(drop).map_err(Seen)
    }
}

/// What may be done only under the line's lock.
impl Gate {
    /// Takes a permit for whoever waits, or sees to it that the next one to be given back is noticed.
    pub(crate) fn claim_or_flag(&self) -> bool {
        let mut seen = self.seen();
        loop {
            let has_room = seen.taken() < self.limit();
            if seen.has(CLOSED) || (!has_room && seen.has(WAIT)) {
                return false;
            }
            let replaced = if has_room {
                self.replace(seen, seen.0 + 1, Ordering::Acquire)
            } else {
                self.replace(seen, seen.0 | WAIT, Ordering::Relaxed)
            };
            match replaced {
                Ok(()) => return has_room,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether a permit that is being given back may go to whoever waits.
    pub(crate) fn may_pass_on(&self) -> bool {
        let seen = self.seen();
        !seen.has(CLOSED) && seen.taken() <= self.limit()
    }

    /// Gives a permit back that went to nobody.
    pub(crate) fn give_back(&self) {
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & TAKEN > 0, "a permit was released that nobody had taken");
    }

    /// Nobody waits any more.
    pub(crate) fn clear_flag(&self) {
        self.word.fetch_and(!WAIT, Ordering::Relaxed);
    }

    /// The worker is dead.
    pub(crate) fn bar(&self) {
        self.word.fetch_or(CLOSED, Ordering::Relaxed);
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_permits_than_the_limit_unless_forced() {
        let gate = Gate::new(2);
        assert!(gate.try_take() && gate.try_take() && !gate.try_take());
        assert!(gate.force_take());
        assert!(gate.try_release() && !gate.try_take());
        assert!(gate.try_release() && gate.try_take());
    }

    #[test]
    fn a_take_by_comparison_fails_when_the_count_has_moved() {
        let gate = Gate::new(8);
        let seen = gate.seen();
        assert!(gate.try_take());
        assert!(gate.try_take_at(seen).is_err());
    }

    #[test]
    fn a_gate_closes_only_when_empty_and_then_gives_nothing() {
        let gate = Gate::new(1);
        assert!(gate.try_take() && !gate.try_close());
        assert!(gate.try_release() && gate.try_close());
        assert!(!gate.try_take() && !gate.force_take() && !gate.claim_or_flag() && !gate.is_open());
    }

    #[test]
    fn a_flag_keeps_newcomers_out_and_permits_in() {
        let gate = Gate::new(1);
        assert!(gate.try_take() && !gate.claim_or_flag());
        assert!(!gate.try_release() && gate.may_pass_on() && gate.taken() == 1);
        gate.give_back();
        assert!(!gate.try_take(), "a newcomer has passed who waits");
        assert!(!gate.try_close(), "the worker would leave whoever waits");
        assert!(gate.claim_or_flag() && gate.taken() == 1);
        gate.clear_flag();
        assert!(gate.try_release() && gate.try_take());
    }

    #[test]
    fn a_limit_that_is_lowered_takes_nothing_away_and_passes_nothing_on() {
        let gate = Gate::new(2);
        assert!(gate.try_take() && gate.try_take());
        gate.set_limit(1);
        assert!(!gate.may_pass_on() && !gate.claim_or_flag() && gate.taken() == 2);
        gate.give_back();
        assert!(gate.may_pass_on());
    }

    #[test]
    fn threads_that_take_and_release_never_exceed_the_limit() {
        let gate = Gate::new(3);
        let (holders, taken) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        if gate.try_take() {
                            taken.fetch_add(1, Ordering::Relaxed);
                            assert!(holders.fetch_add(1, Ordering::AcqRel) < 3);
                            holders.fetch_sub(1, Ordering::AcqRel);
                            assert!(gate.try_release());
                        }
                    }
                });
            }
        });
        assert_ne!(taken.into_inner(), 0, "the first finds room");
        assert_eq!(gate.taken(), 0);
    }
}
