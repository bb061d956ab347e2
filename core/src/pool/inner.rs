//! A pool: the slots, what they are filled with, and the way back.
//!
//! Nothing of the user's (a resource's methods and drop, a hook, a waker) is called while the slots are borrowed: it may
//! come back to this pool.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use super::Resource;
use super::builder::Builder;
use super::hooks::{self, Hooks};
use super::sharing::{Branch, Debt};
use super::slots::{Freed, Grant, Returned, Slots, Ticket};
use super::stats::{Counters, PoolStats, Retired, bump};
use crate::contain::contain;
use crate::handler::WorkerInfo;
use crate::runtime::Runtime;
use crate::upkeep::Upkeep;

/// A resource with its times, on the heap: what goes from hand to hand is a pointer.
pub(crate) type Item<R> = Box<Timed<R>>;

/// A resource, and when its time is over. Times are on the pool's coarse clock.
pub(crate) struct Timed<R> {
    pub(crate) resource: R,
    /// When it is too old.
    pub(crate) expires: Tick,
    /// Since when it is idle.
    pub(crate) idle_since: Tick,
}

/// Milliseconds since the pool was made.
pub(crate) type Tick = u64;

/// What the handles of a pool, its leases and its maintenance share.
pub(crate) struct Inner<R: Resource> {
    slots: RefCell<Slots<Item<R>, Waker, Debt<R>>>,
    /// What it has to do with pools of other cores, if it shares.
    pub(crate) branch: Option<Branch<R>>,
    pub(crate) source: R::Source,
    pub(crate) hooks: Hooks<R>,
    pub(crate) counters: Counters,
    pub(crate) limits: Limits,
    pub(crate) runtime: Runtime,
    pub(crate) upkeep: Upkeep,
    pub(crate) begun: Instant,
    /// The time of the last sweep.
    now: Cell<Tick>,
    /// Whoever waits until nothing is held any more.
    drained: RefCell<Vec<Waker>>,
    pub(crate) maintainer: super::maintenance::Maintainer,
}

/// The numbers of the configuration that are needed later.
pub(crate) struct Limits {
    pub(crate) min_idle: usize,
    pub(crate) max_waiting: usize,
    pub(crate) acquire_timeout: Duration,
    pub(crate) idle_timeout: Tick,
    max_lifetime: Option<Duration>,
    lifetime_jitter: f64,
}

impl<R: Resource> Inner<R> {
    pub(crate) fn new(builder: Builder<R>, max: usize, worker: &WorkerInfo, source: R::Source) -> Rc<Self> {
        let limits = Limits {
            min_idle: builder.min_idle,
            max_waiting: builder.max_waiting,
            acquire_timeout: builder.acquire_timeout,
            idle_timeout: builder.idle_timeout.map_or(Tick::MAX, ticks),
            max_lifetime: builder.max_lifetime,
            lifetime_jitter: builder.lifetime_jitter,
        };
        let inner = Rc::new_cyclic(|pool| Self {
            slots: RefCell::new(Slots::new(max, builder.oldest_first)),
            branch: builder.joining.map(|joining| Branch::new(joining, pool.clone())),
            source,
            hooks: builder.hooks,
            counters: Counters::default(),
            limits,
            runtime: worker.runtime,
            upkeep: worker.upkeep.clone(),
            begun: (worker.runtime.now)(),
            now: Cell::new(0),
            drained: RefCell::default(),
            maintainer: Default::default(),
        });
        let tended: std::rc::Weak<Self> = Rc::downgrade(&inner);
        worker.upkeep.add(tended);
        inner.join();
        inner.maintain();
        inner
    }

    /// Asks for a resource, or for a slot to make one in.
    #[inline]
    pub(crate) fn ask(&self) -> Option<Grant<Item<R>>> {
        self.slots.borrow_mut().ask()
    }

    pub(crate) fn ask_idle(&self) -> Option<Item<R>> {
        self.slots.borrow_mut().ask_idle()
    }

    pub(crate) fn exchange(&self) -> Option<Item<R>> {
        self.slots.borrow_mut().exchange()
    }

    /// Joins the queue; `Err` says how many wait already, if they are too many.
    pub(crate) fn wait(&self, waker: Waker) -> Result<Ticket, usize> {
        let waiting = self.slots.borrow().waiting();
        if waiting >= self.limits.max_waiting {
            return Err(waiting);
        }
        let ticket = self.slots.borrow_mut().wait(waker);
        self.wish();
        Ok(ticket)
    }

    pub(crate) fn come_for(&self, ticket: Ticket, waker: &Waker) -> Option<Grant<Item<R>>> {
        self.slots.borrow_mut().come_for(ticket, || waker.clone())
    }

    /// Leaves the queue, and gives back what had been granted.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let granted = self.slots.borrow_mut().leave(ticket);
        match granted {
            Some(Grant::Resource(item)) => self.put_unused(item),
            Some(Grant::Slot) => self.free(),
            Some(Grant::Closed) | None => self.wish(),
        }
    }

    /// Takes back what was lent out.
    #[inline]
    pub(crate) fn release(&self, mut item: Item<R>) {
        let slot = Slot::new(self);
        slot.holds(Retired::Recycle);
        if let Some(reason) = self.unfit(&mut item) {
            return slot.retire(item.resource, reason);
        }
        hooks::call(&self.hooks.release, &mut item.resource);
        slot.keep();
        self.put(item);
    }

    /// Why it cannot be used again.
    #[inline]
    fn unfit(&self, item: &mut Item<R>) -> Option<Retired> {
        // Asked about while it panics, it might panic again, which ends the process.
        if thread::panicking() || !item.resource.recycle() {
            return Some(Retired::Recycle);
        }
        (item.expires <= self.now.get()).then_some(Retired::Lifetime)
    }

    /// Takes a resource, with its slot.
    #[inline]
    pub(crate) fn put(&self, mut item: Item<R>) {
        item.idle_since = self.now.get();
        self.put_unused(item);
    }

    /// As [`put`](Self::put), for one that nobody has used.
    #[inline]
    fn put_unused(&self, item: Item<R>) {
        let returned = self.slots.borrow_mut().put(item, Debt::is_reclaimed);
        match returned {
            Returned::Idle => self.spare(),
            Returned::Granted(waker) => {
                waker.wake();
                self.wish();
            }
            Returned::Owed(item, debt) => {
                self.pay(item, debt);
                self.tell_if_drained();
            }
            Returned::Refused(item) => {
                self.retire(item.resource, Retired::Surplus);
                self.tell_if_drained();
            }
        }
    }

    /// Gives back a slot whose resource is gone.
    pub(crate) fn free(&self) {
        let freed = self.slots.borrow_mut().free(Debt::is_reclaimed);
        match freed {
            Freed::Nobody => self.spare(),
            Freed::Granted(waker) => {
                waker.wake();
                self.wish();
            }
            Freed::Owed(debt) => drop(debt),
        }
        self.tell_if_drained();
    }

    /// Counts a new resource, and says when it will be too old.
    pub(crate) fn made(&self, mut resource: R) -> Item<R> {
        hooks::call(&self.hooks.create, &mut resource);
        bump(&self.counters.created);
        let expires = self.limits.max_lifetime.map_or(Tick::MAX, |lifetime| {
            let part = 1.0 - self.limits.lifetime_jitter * self.upkeep.random();
            let age = (self.runtime.now)().saturating_duration_since(self.begun);
            ticks(age).saturating_add(ticks(lifetime.mul_f64(part)))
        });
        Box::new(Timed { resource, expires, idle_since: self.now.get() })
    }

    /// Lets a resource go. Its slot is given back separately, and later: there are never more resources than slots.
    pub(crate) fn retire(&self, mut resource: R, reason: Retired) {
        self.count_retired(reason);
        if let Some(hook) = &self.hooks.retire {
            hook(&mut resource, reason);
        }
        drop(resource);
    }

    pub(crate) fn count_retired(&self, reason: Retired) {
        let mut counts = self.counters.retired.get();
        counts.count(reason);
        self.counters.retired.set(counts);
    }

    pub(crate) fn resize(&self, max: usize) {
        let (surplus, woken) = self.slots.borrow_mut().resize(max);
        woken.into_iter().for_each(Waker::wake);
        surplus.into_iter().for_each(|item| self.retire(item.resource, Retired::Surplus));
        self.wish();
        self.spare();
    }

    pub(crate) fn retain(&self, mut keep: impl FnMut(&R) -> bool) {
        let idle = self.slots.borrow().idle();
        for _ in 0..idle {
            // One at a time, out of the pool meanwhile: `keep` may use it.
            let Some(item) = self.slots.borrow_mut().ask_oldest() else { return };
            let slot = Slot::new(self);
            slot.holds(Retired::Discarded);
            if keep(&item.resource) {
                slot.keep();
                self.put_unused(item);
            } else {
                slot.retire(item.resource, Retired::Discarded);
            }
        }
    }

    /// Closes, whatever a resource does when it is dropped.
    pub(crate) fn close_slots(&self) {
        let (idle, woken) = self.slots.borrow_mut().close();
        let maintainer = self.maintainer.waker.take();
        woken.into_iter().chain(maintainer).for_each(Waker::wake);
        self.recall();
        for item in idle {
            let _panicked = contain(|| self.retire(item.resource, Retired::Surplus));
        }
        self.tell_if_drained();
    }

    /// The slots, for the maintenance.
    pub(crate) fn slots(&self) -> &RefCell<Slots<Item<R>, Waker, Debt<R>>> {
        &self.slots
    }

    pub(crate) fn set_now(&self, now: Instant) -> Tick {
        self.now.set(ticks(now.saturating_duration_since(self.begun)));
        self.now.get()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.slots.borrow().is_closed()
    }

    /// Whether the pool is closed and nothing is held any more; else `waker` is woken when it is.
    pub(crate) fn is_drained(&self, waker: &Waker) -> bool {
        let drained = self.slots.borrow().is_drained();
        let mut waiting = self.drained.borrow_mut();
        if !drained && !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
        drained
    }

    #[cold]
    pub(crate) fn tell_if_drained(&self) {
        let drained = self.slots.borrow().is_drained();
        if drained {
            self.drained.take().into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let slots = self.slots.borrow();
        let Counters {
            created,
            create_failed,
            acquired,
            waited,
            wait_time,
            timed_out,
            given,
            received,
            retired,
        } = &self.counters;
        PoolStats {
            max: slots.max(),
            size: slots.held() + slots.idle(),
            idle: slots.idle(),
            lent: slots.lent(),
            borrowed: slots.borrowed(),
            waiting: slots.waiting(),
            created: created.get(),
            create_failed: create_failed.get(),
            acquired: acquired.get(),
            waited: waited.get(),
            wait_time: wait_time.get(),
            timed_out: timed_out.get(),
            given: given.get(),
            received: received.get(),
            retired: retired.get(),
        }
    }
}

pub(crate) fn ticks(duration: Duration) -> Tick {
    Tick::try_from(duration.as_millis()).unwrap_or(Tick::MAX)
}

/// A slot that is held; dropped, it is given back, also by a panic or a future that is given up.
pub(crate) struct Slot<'a, R: Resource> {
    inner: &'a Inner<R>,
    /// Counted when it is dropped with a resource.
    holds: Cell<Option<Retired>>,
}

impl<'a, R: Resource> Slot<'a, R> {
    #[inline]
    pub(crate) fn new(inner: &'a Inner<R>) -> Self {
        Self { inner, holds: Cell::new(None) }
    }

    /// A resource of the pool is in it, and is lost for that reason if the slot is dropped.
    #[inline]
    pub(crate) fn holds(&self, reason: Retired) {
        self.holds.set(Some(reason));
    }

    /// Lets its resource go.
    pub(crate) fn retire(&self, resource: R, reason: Retired) {
        self.holds.set(None);
        self.inner.retire(resource, reason);
    }

    /// Does not give the slot back: it goes on with its resource.
    #[inline]
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl<R: Resource> Drop for Slot<'_, R> {
    fn drop(&mut self) {
        if let Some(reason) = self.holds.get() {
            self.inner.count_retired(reason);
        }
        self.inner.free();
    }
}
