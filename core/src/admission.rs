//! Admission: one word per worker says how many permits are taken, and whether the worker still takes any.
//!
//! Owns the words and the permits. Which worker to ask is `placement`'s decision. A permit is taken on the
//! worker that will serve, *before* the connection moves there: a transfer cannot find its target full.
//!
//! The high bits of a word belong to the protocol: CLOSED is here; the flags of waiting connections and
//! waiting requests (`docs/protocol.md`, WAIT and BOUND) will stand beside it.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

const TAKEN: u64 = 0xffff_ffff;
const CLOSED: u64 = 1 << 63;

/// The gates of all workers.
#[derive(Debug)]
pub(crate) struct Gates(Box<[CachePadded<Gate>]>);

impl Gates {
    /// A gate for each worker, each with the same limit.
    pub(crate) fn new(workers: usize, limit: u32) -> Self {
        Self((0..workers).map(|_| CachePadded::new(Gate::new(limit))).collect())
    }

    pub(crate) fn gate(&self, worker: usize) -> &Gate {
        &self.0[worker]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// One worker's word, in a cache line of its own.
#[derive(Debug)]
pub(crate) struct Gate {
    word: AtomicU64,
    limit: u32,
}

/// What a gate looked like a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen(u64);

impl Seen {
    pub(crate) fn taken(self) -> u32 {
        u32::try_from(self.0 & TAKEN).unwrap_or(u32::MAX)
    }
}

impl Gate {
    fn new(limit: u32) -> Self {
        Self { word: AtomicU64::new(0), limit }
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen(self.word.load(Ordering::Relaxed))
    }

    /// How many permits are taken, forced ones included.
    pub(crate) fn taken(&self) -> u32 {
        self.seen().taken()
    }

    /// Whether a permit could be taken of a gate that looks like this.
    pub(crate) fn has_room(&self, seen: Seen) -> bool {
        seen.0 & CLOSED == 0 && seen.taken() < self.limit
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
        self.word
            .compare_exchange_weak(seen.0, seen.0 + 1, Ordering::Acquire, Ordering::Relaxed)
            .map(|_| ())
            .map_err(Seen)
    }

    /// Takes a permit over the limit; not of a closed gate.
    pub(crate) fn force_take(&self) -> bool {
        let mut seen = self.seen();
        while seen.0 & CLOSED == 0 {
            match self.try_take_at(seen) {
                Ok(()) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Gives a permit back.
    pub(crate) fn release(&self) {
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & TAKEN > 0, "a permit was released that nobody had taken");
    }

    /// Closes the gate for ever, if no permit is taken. A worker leaves only after this has succeeded, so
    /// that nothing can be on its way to it.
    pub(crate) fn try_close(&self) -> bool {
        self.word.compare_exchange(0, CLOSED, Ordering::Acquire, Ordering::Relaxed).is_ok()
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
        gate.release();
        assert!(!gate.try_take());
        gate.release();
        assert!(gate.try_take());
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
        gate.release();
        assert!(gate.try_close() && !gate.try_take() && !gate.force_take());
    }

    #[test]
    fn threads_that_take_and_release_never_exceed_the_limit() {
        let gate = Gate::new(3);
        let holders = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut taken = 0;
                    while taken < 10_000 {
                        if gate.try_take() {
                            taken += 1;
                            assert!(holders.fetch_add(1, Ordering::AcqRel) < 3);
                            holders.fetch_sub(1, Ordering::AcqRel);
                            gate.release();
                        }
                    }
                });
            }
        });
        assert_eq!(gate.taken(), 0);
    }
}
