//! What a pool tells of itself.

use std::cell::Cell;
use std::time::Duration;

/// A pool, at one moment. Of the counts, `created` + `received` = `retired.total()` + `given` + `size` always holds while
/// nothing is being made or packed; without [sharing](super::Sharing), `received` and `given` are 0. Of pools that share,
/// `given` and `received` are the same all together, but for what is on its way, or was on its way to a worker that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// The most resources there may be; so many more as are borrowed from other cores, and fewer as are lent to them.
    pub max: usize,
    /// Slots in use on this core: lent out, being made or checked, and idle.
    pub size: usize,
    /// Slots that other cores have borrowed.
    pub lent: usize,
    /// Slots of other cores that are borrowed.
    pub borrowed: usize,
    /// Resources that nobody uses.
    pub idle: usize,
    /// Acquires that wait in the queue.
    pub waiting: usize,
    /// Resources made.
    pub created: u64,
    /// Attempts to make one that failed.
    pub create_failed: u64,
    /// Leases given out.
    pub acquired: u64,
    /// Acquires that had to wait in the queue.
    pub waited: u64,
    /// How long those that were then served have waited, all together.
    pub wait_time: Duration,
    /// Acquires that ended with a timeout.
    pub timed_out: u64,
    /// Resources that were sent to another core, lent or given back.
    pub given: u64,
    /// Resources that came from another core, borrowed or given back.
    pub received: u64,
    /// Resources that left the pool, by reason.
    pub retired: RetiredCounts,
}

/// Why a resource leaves its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Retired {
    /// It was idle for as long as the idle timeout.
    Idle,
    /// It was as old as the lifetime.
    Lifetime,
    /// Its check has failed, or was given up.
    Check,
    /// It did not want to be recycled, or came back while its thread panicked.
    Recycle,
    /// Its user discarded it, or took it away.
    Discarded,
    /// The pool has become smaller, or is closed.
    Surplus,
    /// It could not be sent to another core, or not be taken in there. No hook is called: it is gone by then.
    Moving,
}

/// How many resources have left a pool, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RetiredCounts {
    /// See [`Retired::Idle`].
    pub idle: u64,
    /// See [`Retired::Lifetime`].
    pub lifetime: u64,
    /// See [`Retired::Check`].
    pub check: u64,
    /// See [`Retired::Recycle`].
    pub recycle: u64,
    /// See [`Retired::Discarded`].
    pub discarded: u64,
    /// See [`Retired::Surplus`].
    pub surplus: u64,
    /// See [`Retired::Moving`].
    pub moving: u64,
}

impl RetiredCounts {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { idle, lifetime, check, recycle, discarded, surplus, moving } = self;
        idle + lifetime + check + recycle + discarded + surplus + moving
    }

    pub(crate) fn count(&mut self, reason: Retired) {
        *match reason {
            Retired::Idle => &mut self.idle,
            Retired::Lifetime => &mut self.lifetime,
            Retired::Check => &mut self.check,
            Retired::Recycle => &mut self.recycle,
            Retired::Discarded => &mut self.discarded,
            Retired::Surplus => &mut self.surplus,
            Retired::Moving => &mut self.moving,
        } += 1;
    }
}

/// The counters behind [`PoolStats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) created: Cell<u64>,
    pub(crate) create_failed: Cell<u64>,
    pub(crate) acquired: Cell<u64>,
    pub(crate) waited: Cell<u64>,
    pub(crate) wait_time: Cell<Duration>,
    pub(crate) timed_out: Cell<u64>,
    pub(crate) given: Cell<u64>,
    pub(crate) received: Cell<u64>,
    pub(crate) retired: Cell<RetiredCounts>,
}

/// Counts one more.
#[inline]
pub(crate) fn bump(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}
