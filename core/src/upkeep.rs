//! What a worker looks after besides its connections: at every sweep, and once more when it ends.

use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};
use std::time::Instant;

use fastrand::Rng;

/// Something that a worker looks after for as long as it lives.
pub(crate) trait Tended {
    /// Looks it over; `now` is the worker's coarse clock.
    fn sweep(self: Rc<Self>, now: Instant);
    /// The worker is about to leave: whatever it has under way shall end.
    fn close(&self);
}

/// The list of what one worker looks after. Clones are the same list.
#[derive(Clone)]
pub struct Upkeep {
    inner: Rc<Inner>,
}

struct Inner {
    tended: RefCell<Vec<Weak<dyn Tended>>>,
    random: RefCell<Rng>,
    /// Is told how many there are, when that changes.
    announce: Box<dyn Fn(usize)>,
}

impl Upkeep {
    pub(crate) fn new(seed: u64, announce: impl Fn(usize) + 'static) -> Self {
        let (tended, random) = (RefCell::default(), RefCell::new(Rng::with_seed(seed)));
        Self { inner: Rc::new(Inner { tended, random, announce: Box::new(announce) }) }
    }

    /// Looks over everything. A worker does that by itself, two or three times a second; it is for who uses parts of a
    /// worker without one.
    pub fn sweep(&self, now: Instant) {
        self.each(|tended| tended.sweep(now));
    }

    /// Ends whatever goes on in what is looked after. A worker does that by itself when it leaves.
    pub fn close(&self) {
        self.each(|tended| tended.close());
    }

    /// Adds something, until it is dropped.
    pub(crate) fn add(&self, tended: Weak<dyn Tended>) {
        let mut list = self.inner.tended.borrow_mut();
        list.push(tended);
        (self.inner.announce)(list.len());
    }

    /// Whether there is nothing to look after.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.tended.borrow().is_empty()
    }

    /// A random number from 0 to 1, of the worker's own source.
    pub(crate) fn random(&self) -> f64 {
        self.inner.random.borrow_mut().f64()
    }

    /// Calls for everything that still lives. Nothing is borrowed meanwhile: what is called may add to the list.
    fn each(&self, act: impl Fn(Rc<dyn Tended>)) {
        let mut list = self.inner.tended.borrow_mut();
        let before = list.len();
        list.retain(|tended| tended.strong_count() > 0);
        if list.len() != before {
            (self.inner.announce)(list.len());
        }
        let living: Vec<_> = list.iter().filter_map(Weak::upgrade).collect();
        drop(list);
        living.into_iter().for_each(act);
    }
}

impl fmt::Debug for Upkeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upkeep").field("tended", &self.inner.tended.borrow().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Counter(Cell<usize>);

    impl Tended for Counter {
        fn sweep(self: Rc<Self>, _now: Instant) {
            self.0.set(self.0.get() + 1);
        }

        fn close(&self) {
            self.0.set(100);
        }
    }

    #[test]
    fn what_lives_is_looked_after_and_what_is_gone_is_forgotten() {
        let count = Rc::new(Cell::new(0));
        let announced = Rc::clone(&count);
        let upkeep = Upkeep::new(0, move |length| announced.set(length));
        let counters = [(); 2].map(|()| Rc::new(Counter(Cell::new(0))));
        for counter in &counters {
            let counter: Weak<Counter> = Rc::downgrade(counter);
            upkeep.add(counter);
        }
        assert_eq!(count.get(), 2);
        upkeep.sweep(Instant::now());
        let [kept, dropped] = counters;
        drop(dropped);
        upkeep.sweep(Instant::now());
        assert_eq!((kept.0.get(), count.get()), (2, 1));
        upkeep.close();
        assert_eq!(kept.0.get(), 100);
        drop(kept);
        upkeep.sweep(Instant::now());
        assert!(upkeep.is_empty() && count.get() == 0);
    }
}
