//! Who has made no progress for too long: no timer at all, and two writes for a message.
//!
//! A timer for each message would cost more than the message, and one for all would make every wait of the runtime
//! dearer. Here the worker's sweep, two or three times a second, looks over all that is watched; what is expected to move
//! and has not for the whole limit is woken, and told that it has stalled. What is to be watched says so by
//! [`Watched::expect`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use corepool::WorkerInfo;
use corepool::upkeep::AtSweeps;
use slab::Slab;

/// Watches all connections of one core.
#[derive(Debug)]
pub struct Watchdog {
    inner: Rc<Inner>,
    _at_sweeps: AtSweeps,
}

#[derive(Debug, Default)]
struct Inner {
    watched: RefCell<Slab<Rc<State>>>,
}

#[derive(Debug, Default)]
struct State {
    expected: Cell<bool>,
    /// Since the last sweep.
    moved: Cell<bool>,
    /// The first sweep that has found no progress.
    still_since: Cell<Option<Instant>>,
    stalled: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

/// One connection's side of it; not watched any more when dropped.
#[derive(Debug)]
pub struct Watched {
    state: Rc<State>,
    key: usize,
    home: Rc<Inner>,
}

impl Watchdog {
    /// Watches until this is dropped. A stall is noticed two sweeps too late at the most, and never too early.
    #[must_use]
    pub fn new(worker: &WorkerInfo, limit: Duration) -> Self {
        let inner = Rc::new(Inner::default());
        let watching = Rc::clone(&inner);
        let at_sweeps = worker.upkeep().at_sweeps(move |now| watching.look(now, limit));
        Self { inner, _at_sweeps: at_sweeps }
    }

    /// Watches one more, whenever it expects progress.
    #[must_use]
    pub fn watch(&self) -> Watched {
        let state = Rc::new(State::default());
        let key = self.inner.watched.borrow_mut().insert(Rc::clone(&state));
        Watched { state, key, home: Rc::clone(&self.inner) }
    }
}

impl Inner {
    fn look(&self, now: Instant, limit: Duration) {
        self.watched.borrow().iter().for_each(|(_, state)| state.look(now, limit));
    }
}

impl State {
    fn look(&self, now: Instant, limit: Duration) {
        if self.moved.take() || !self.expected.get() {
            return self.still_since.set(None);
        }
        let since = self.still_since.get().unwrap_or(now);
        self.still_since.set(Some(since));
        if now.saturating_duration_since(since) >= limit
            && !self.stalled.replace(true)
            && let Some(waker) = self.waker.borrow().as_ref()
        {
            waker.wake_by_ref();
        }
    }

    #[inline]
    fn moves(&self) {
        self.moved.set(true);
        self.stalled.set(false);
    }
}

impl Watched {
    /// Expects progress from now on, or no longer. Progress until now counts.
    #[inline]
    pub fn expect(&self, progress: bool) {
        self.state.expected.set(progress);
        self.state.moves();
    }

    /// Something has moved.
    #[inline]
    pub fn progress(&self) {
        self.state.moves();
    }

    /// Ready when nothing has moved for too long while it was expected.
    #[inline]
    pub fn poll_stalled(&self, cx: &Context<'_>) -> Poll<()> {
        let state = &*self.state;
        if state.stalled.get() {
            return Poll::Ready(());
        }
        let mut waker = state.waker.borrow_mut();
        if waker.as_ref().is_none_or(|known| !known.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.home.watched.borrow_mut().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    fn is_stalled(watched: &Watched) -> bool {
        watched.poll_stalled(&Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn what_is_expected_and_does_not_move_for_the_whole_limit_has_stalled() {
        let (inner, begun) = (Rc::new(Inner::default()), Instant::now());
        let state = Rc::new(State::default());
        let key = inner.watched.borrow_mut().insert(Rc::clone(&state));
        let watched = Watched { state, key, home: Rc::clone(&inner) };
        let look = |seconds: f64| inner.look(begun + Duration::from_secs_f64(seconds), LIMIT);
        [0.0, 5.0].into_iter().for_each(look);
        assert!(!is_stalled(&watched), "nothing was expected");
        watched.expect(true);
        [5.4, 5.8, 6.7].into_iter().for_each(look);
        assert!(!is_stalled(&watched), "still since 5.8");
        watched.progress();
        [7.1, 7.5, 8.4].into_iter().for_each(look);
        assert!(!is_stalled(&watched), "still since 7.5");
        look(8.5);
        assert!(is_stalled(&watched));
        watched.expect(false);
        [9.0, 19.0].into_iter().for_each(look);
        assert!(!is_stalled(&watched), "nothing is expected any more");
        drop(watched);
        assert!(inner.watched.borrow().is_empty());
    }
}
