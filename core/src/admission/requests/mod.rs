//! The permits of one worker's requests, under `Scope::Request`.
//!
//! A request is served by the worker that has its connection, and nobody else takes or gives back these
//! permits. So they are plain numbers on the worker's thread, and no request ever takes a lock.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use slab::Slab;

/// The permits, and who waits for one: first in, first out.
#[derive(Debug)]
pub(crate) struct Requests {
    limit: Cell<u32>,
    taken: Cell<u32>,
    /// The most that were taken at once since somebody asked.
    peak: Cell<u32>,
    waiting: RefCell<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Who waits, and who was granted a permit and has not been polled yet.
    asking: Slab<Asking>,
    line: VecDeque<usize>,
}

#[derive(Debug)]
struct Asking {
    granted: bool,
    waker: Option<Waker>,
}

/// A place in the line. It must be given up, or polled to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket(usize);

impl Requests {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit: Cell::new(limit), taken: Cell::new(0), peak: Cell::new(0), waiting: RefCell::default() }
    }

    /// How many permits are taken: by requests, and by those that were granted one and have not seen it yet.
    pub(crate) fn taken(&self) -> u32 {
        self.taken.get()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit.get()
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.borrow().line.len()
    }

    /// The most that were taken at once since the last call.
    pub(crate) fn take_peak(&self) -> u32 {
        self.peak.replace(self.taken.get())
    }

    /// Whether a permit can be had at once: newcomers do not pass who waits, for while anybody waits all are
    /// taken.
    pub(crate) fn has_room(&self) -> bool {
        self.taken.get() < self.limit.get()
    }

    /// Takes a permit if there is one.
    pub(crate) fn try_take(&self) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.force_take();
        }
        has_room
    }

    /// Takes a permit over the limit.
    pub(crate) fn force_take(&self) {
        let taken = self.taken.get() + 1;
        self.taken.set(taken);
        self.peak.set(self.peak.get().max(taken));
    }

    /// Gives a permit back; it goes to whoever has waited longest.
    pub(crate) fn release(&self) {
        self.taken.set(self.taken.get() - 1);
        self.grant();
    }

    /// Lines up.
    pub(crate) fn ask(&self) -> Ticket {
        let mut waiting = self.waiting.borrow_mut();
        let key = waiting.asking.insert(Asking { granted: false, waker: None });
        waiting.line.push_back(key);
        Ticket(key)
    }

    /// Ready when a permit has been granted: it is the caller's then, and the place is gone.
    pub(crate) fn poll_granted(&self, asked: Ticket, cx: &Context<'_>) -> Poll<()> {
        let mut waiting = self.waiting.borrow_mut();
        let asking = &mut waiting.asking[asked.0];
        if asking.granted {
            waiting.asking.remove(asked.0);
            return Poll::Ready(());
        }
        if asking.waker.as_ref().is_none_or(|waker| !waker.will_wake(cx.waker())) {
            asking.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Leaves the line; a permit that was granted meanwhile is given back.
    pub(crate) fn give_up(&self, asked: Ticket) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.asking.remove(asked.0).granted {
            drop(waiting);
            return self.release();
        }
        waiting.line.retain(|&key| key != asked.0);
    }

    /// Sets the limit. Who waits gets the permits that this makes.
    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.set(limit);
        self.grant();
    }

    fn grant(&self) {
        while self.has_room() {
            let mut waiting = self.waiting.borrow_mut();
            let Some(key) = waiting.line.pop_front() else { return };
            let asking = &mut waiting.asking[key];
            asking.granted = true;
            let waker = asking.waker.take();
            drop(waiting); // a waker may call back
            self.force_take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    fn is_granted(requests: &Requests, asked: Ticket) -> bool {
        requests.poll_granted(asked, &Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_permit_goes_to_whoever_has_waited_longest() {
        let requests = Requests::new(1);
        assert!(requests.try_take() && !requests.try_take());
        let (first, second) = (requests.ask(), requests.ask());
        assert!(!is_granted(&requests, first) && !is_granted(&requests, second));
        requests.release();
        assert_eq!((requests.taken(), requests.waiting()), (1, 1));
        assert!(!requests.try_take(), "a newcomer has passed who waits");
        assert!(!is_granted(&requests, second) && is_granted(&requests, first));
        requests.release();
        assert!(is_granted(&requests, second));
        requests.release();
        assert_eq!((requests.taken(), requests.waiting()), (0, 0));
    }

    #[test]
    fn who_gives_up_passes_on_what_was_granted() {
        let requests = Requests::new(1);
        assert!(requests.try_take());
        let [first, second, third] = [requests.ask(), requests.ask(), requests.ask()];
        requests.give_up(second);
        requests.release();
        requests.give_up(first); // granted, and never polled
        assert!(is_granted(&requests, third));
        requests.release();
        assert_eq!((requests.taken(), requests.waiting(), requests.waiting.borrow().asking.len()), (0, 0, 0));
    }

    #[test]
    fn a_raised_limit_lets_several_in_and_a_lowered_one_takes_nothing_away() {
        let requests = Requests::new(1);
        assert!(requests.try_take());
        let all = [requests.ask(), requests.ask(), requests.ask()];
        requests.set_limit(3);
        assert_eq!(all.map(|asked| is_granted(&requests, asked)), [true, true, false]);
        requests.set_limit(1);
        requests.release();
        requests.release();
        assert!(!is_granted(&requests, all[2]));
        requests.release();
        assert!(is_granted(&requests, all[2]));
        assert_eq!(requests.take_peak(), 3);
        assert_eq!(requests.take_peak(), 1);
    }

    #[test]
    fn a_forced_take_counts_and_delays_others() {
        let requests = Requests::new(1);
        requests.force_take();
        requests.force_take();
        let asked = requests.ask();
        requests.release();
        assert!(!is_granted(&requests, asked));
        requests.release();
        assert!(is_granted(&requests, asked));
    }
}
