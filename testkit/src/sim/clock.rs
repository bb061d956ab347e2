//! Virtual time: it stands still while anything can run.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The time of a world, and the timers that are set.
#[derive(Debug)]
pub(super) struct Clock {
    origin: Instant,
    elapsed: Cell<Duration>,
    timers: RefCell<BTreeMap<Key, Waker>>,
    next_timer: Cell<u64>,
}

/// When, and which of those at the same time.
type Key = (Duration, u64);

impl Default for Clock {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            elapsed: Cell::default(),
            timers: RefCell::default(),
            next_timer: Cell::default(),
        }
    }
}

impl Clock {
    pub(super) fn now(&self) -> Instant {
        self.origin + self.elapsed.get()
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.elapsed.get()
    }

    pub(super) fn sleep(self: &Rc<Self>, duration: Duration) -> Sleep {
        let number = self.next_timer.replace(self.next_timer.get() + 1);
        Sleep { key: (self.elapsed.get().saturating_add(duration), number), clock: Rc::clone(self) }
    }

    /// Advances to the next timer; `false` when none is set.
    pub(super) fn advance_to_next(&self) -> bool {
        let next = self.timers.borrow().first_key_value().map(|(key, _)| key.0);
        if let Some(at) = next {
            self.advance_by(at.saturating_sub(self.elapsed.get()));
        }
        next.is_some()
    }

    /// Advances, and wakes whoever is due.
    pub(super) fn advance_by(&self, duration: Duration) {
        self.elapsed.set(self.elapsed.get().saturating_add(duration));
        let mut timers = self.timers.borrow_mut();
        while let Some(first) = timers.first_entry().filter(|first| first.key().0 <= self.elapsed.get()) {
            first.remove().wake();
        }
    }
}

/// A future that is ready when its time has come.
#[derive(Debug)]
pub(super) struct Sleep {
    key: Key,
    clock: Rc<Clock>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.key.0 <= self.clock.elapsed.get() {
            return Poll::Ready(());
        }
        self.clock.timers.borrow_mut().insert(self.key, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clock.timers.borrow_mut().remove(&self.key);
    }
}
