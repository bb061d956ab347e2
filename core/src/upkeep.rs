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

    /// Calls `look` at every sweep, with the worker's coarse clock, until what this returns is dropped: for whoever
    /// looks over something now and then. A timer would do it as well, and make every wait of the runtime dearer for as
    /// long as it is pending.
    #[must_use = "nothing is called any more once it is dropped"]
    pub fn at_sweeps(&self, look: impl Fn(Instant) + 'static) -> AtSweeps {
        let looking: Rc<dyn Tended> = Rc::new(Looking(look));
        self.add(Rc::downgrade(&looking));
        AtSweeps(looking)
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

/// What [`Upkeep::at_sweeps`] calls is called for as long as this is kept.
pub struct AtSweeps(#[expect(dead_code, reason = "it is kept alive")] Rc<dyn Tended>);

impl fmt::Debug for AtSweeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtSweeps").finish_non_exhaustive()
    }
}

struct Looking<F>(F);

impl<F: Fn(Instant)> Tended for Looking<F> {
    fn sweep(self: Rc<Self>, now: Instant) {
        (self.0)(now);
    }

    fn close(&self) {}
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

    #[test]
    fn a_look_is_called_at_every_sweep_until_it_is_dropped() {
        let upkeep = Upkeep::new(0, |_count| {});
        let (looks, begun) = (Rc::new(Cell::new(0)), Instant::now());
        let counted = Rc::clone(&looks);
        let at_sweeps = upkeep.at_sweeps(move |now| {
            assert_eq!(now, begun);
            counted.set(counted.get() + 1);
        });
        upkeep.sweep(begun);
        upkeep.sweep(begun);
        drop(at_sweeps);
        upkeep.sweep(begun);
        assert_eq!(looks.get(), 2);
    }
}
