//! What a pool does by itself: at every sweep of its worker it drops what is too old, and makes what is missing.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Instant;

use futures_util::FutureExt;

use super::Resource;
use super::inner::{Inner, Slot};
use super::slots::Verdict;
use super::stats::{Retired, bump};
use crate::closing::UnderWay;
use crate::contain::contain;
use crate::upkeep::Tended;

/// After so many failures in a row the pause is not doubled any more: 64 sweeps are 26 s.
const DOUBLINGS_MAX: u32 = 6;

/// The state of a pool's maintenance.
#[derive(Default)]
pub(crate) struct Maintainer {
    /// A task is making what is missing; one after the other, so that whoever is connected to sees no herd.
    is_running: Cell<bool>,
    /// Of that task.
    pub(crate) waker: RefCell<Option<Waker>>,
    /// How many are being made for [`min_idle`](super::Builder::min_idle).
    making: Cell<usize>,
    /// How many attempts have failed in a row.
    failures: Cell<u32>,
    /// How many sweeps there is no attempt.
    pause: Cell<u32>,
}

impl<R: Resource> Tended for Inner<R> {
    fn sweep(self: Rc<Self>, now: Instant) {
        let now = self.set_now(now);
        let gone = self.slots().borrow_mut().retire(self.limits.min_idle, |item| {
            let idle_until = item.idle_since.saturating_add(self.limits.idle_timeout);
            match () {
                () if item.expires <= now => Verdict::Go,
                () if idle_until <= now => Verdict::GoIfSpare,
                () => Verdict::Stay,
            }
        });
        for item in gone {
            let reason = if item.expires <= now { Retired::Lifetime } else { Retired::Idle };
            let _panicked = contain(|| self.retire(item.resource, reason));
        }
        let pause = &self.maintainer.pause;
        if pause.get() == 0 { self.maintain() } else { pause.set(pause.get() - 1) }
    }

    fn close(&self) {
        self.close_slots();
        self.leave_others();
    }
}

impl<R: Resource> Inner<R> {
    /// Begins to make what is missing, unless somebody does.
    pub(crate) fn maintain(self: &Rc<Self>) {
        if !self.lacks_idle() || self.maintainer.is_running.replace(true) {
            return;
        }
        let (inner, under_way) = (Rc::clone(self), UnderWay::new());
        (self.runtime.spawn)(Box::pin(async move {
            // A panic here would be the runtime's.
            let filled = AssertUnwindSafe(inner.fill()).catch_unwind().await;
            let is_filled = matches!(filled, Ok(true));
            let failures = if is_filled { 0 } else { inner.maintainer.failures.get() + 1 };
            inner.maintainer.failures.set(failures);
            inner.maintainer.pause.set(if is_filled { 0 } else { 1 << failures.min(DOUBLINGS_MAX) });
            inner.maintainer.is_running.set(false);
            drop(inner);
            drop(under_way);
        }));
    }

    /// Makes what is missing; `false` when one could not be made in time.
    async fn fill(&self) -> bool {
        while self.lacks_idle() {
            let mut timer = (self.runtime.sleep)(self.limits.acquire_timeout);
            let mut making = pin!(self.make_idle());
            let made = poll_fn(|cx| {
                *self.maintainer.waker.borrow_mut() = Some(cx.waker().clone());
                if self.is_closed() {
                    return Poll::Ready(true);
                }
                match making.as_mut().poll(cx) {
                    Poll::Ready(made) => Poll::Ready(made.is_ok()),
                    Poll::Pending => timer.as_mut().poll(cx).map(|()| false),
                }
            });
            if !made.await {
                return false;
            }
        }
        true
    }

    /// Makes one, if one is missing, for whoever comes next.
    pub(crate) async fn make_idle(&self) -> Result<(), R::Error> {
        if !self.lacks_idle() || !self.slots().borrow_mut().ask_slot() {
            return Ok(());
        }
        let slot = Slot::new(self);
        let making = Making::new(&self.maintainer.making);
        let created = R::create(&self.source).await.inspect_err(|_| bump(&self.counters.create_failed))?;
        let item = self.made(created);
        drop(making);
        slot.keep();
        self.put(item);
        Ok(())
    }

    /// Whether fewer are idle than should be, and there is room for one more.
    pub(crate) fn lacks_idle(&self) -> bool {
        let slots = self.slots().borrow();
        slots.has_room() && slots.idle() + self.maintainer.making.get() < self.limits.min_idle
    }
}

/// Counts one that is being made.
struct Making<'a>(&'a Cell<usize>);

impl<'a> Making<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
