//! Who has made no progress for too long: one timer for all connections of a core, and two writes for a message.
//!
//! A timer for each message would cost more than the message. Here a task looks over all that is watched a few times
//! in each `limit`; what is expected to move and has not for the whole of it is woken, and told that it has stalled. What is to be watched says so by [`Watched::expect`].

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corepool::Backend;
use slab::Slab;

/// How often in each limit it is looked: a stall is noticed by a quarter too late at the most.
const LOOKS: u32 = 4;

/// How long it sleeps at least, whatever the limit.
const SHORTEST: Duration = Duration::from_millis(1);

/// Watches all connections of one core.
#[derive(Debug)]
pub struct Watchdog(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    watched: RefCell<Slab<Rc<State>>>,
}

#[derive(Debug, Default)]
struct State {
    expected: Cell<bool>,
    /// Looks since the last progress.
    looks: Cell<u32>,
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
    /// Begins to watch on this thread's runtime, until this is dropped.
    #[must_use]
    pub fn start<B: Backend>(limit: Duration) -> Self {
        let inner = Rc::new(Inner::default());
        let watching = Rc::downgrade(&inner);
        B::spawn_local(async move {
            loop {
                B::sleep((limit / LOOKS).max(SHORTEST)).await;
                let Some(inner) = Weak::upgrade(&watching) else { return };
                inner.look();
            }
        });
        Self(inner)
    }

    /// Watches one more, whenever it expects progress.
    #[must_use]
    pub fn watch(&self) -> Watched {
        let state = Rc::new(State::default());
        let key = self.0.watched.borrow_mut().insert(Rc::clone(&state));
        Watched { state, key, home: Rc::clone(&self.0) }
    }
}

impl Inner {
    fn look(&self) {
        for (_, state) in self.watched.borrow().iter().filter(|(_, state)| state.expected.get()) {
            state.looks.set(state.looks.get() + 1);
            if state.is_stalled()
                && let Some(waker) = state.waker.borrow().as_ref()
            {
                waker.wake_by_ref();
            }
        }
    }
}

impl State {
    fn is_stalled(&self) -> bool {
        self.expected.get() && self.looks.get() > LOOKS
    }
}

impl Watched {
    /// Expects progress from now on, or no longer. Progress until now counts.
    #[inline]
    pub fn expect(&self, progress: bool) {
        self.state.looks.set(0);
        self.state.expected.set(progress);
    }

    /// Something has moved.
    #[inline]
    pub fn progress(&self) {
        self.state.looks.set(0);
    }

    /// Ready when nothing has moved for too long while it was expected.
    #[inline]
    pub fn poll_stalled(&self, cx: &Context<'_>) -> Poll<()> {
        let state = &*self.state;
        if state.is_stalled() {
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
