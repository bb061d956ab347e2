//! Which worker serves a connection, and how one that waits gets to the worker that will.
//!
//! The default is [`Placement::LocalFirst`](crate::Placement): a permit of the target is reserved before the
//! connection is sent, so it never comes back. [`SharedQueue`] and [`NoHandoff`] ship for comparison.

use std::fmt::Debug;

use fastrand::Rng;

use crate::admission::{Gates, Seen};

/// Finds a worker with room for a connection that has just been accepted.
pub trait Handoff: Debug + Send + Sync + 'static {
    /// Reserves a permit of the worker that shall serve a connection accepted by `me`; `None` when no worker
    /// that it considers has room. It must not block.
    fn place<'a>(&self, me: usize, room: &Room<'a>, random: &mut Rng) -> Option<Reserved<'a>>;

    /// How those who wait get a permit.
    fn waiting(&self) -> Waiting {
        Waiting::Granted
    }
}

/// How those who wait get a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Waiting {
    /// A permit that is given back goes to whoever has waited longest, wherever that was accepted.
    Granted,
    /// A permit that is given back goes to whoever has waited longest of those that the same worker accepted.
    AtHome,
    /// Whoever waits is claimed by a worker that has room and looks.
    Claimed,
}

/// The permits of all workers, as a [`Handoff`] sees them.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    gates: &'a Gates,
    release: &'a dyn Fn(usize),
}

impl Debug for Room<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Room").field("gates", self.gates).finish_non_exhaustive()
    }
}

/// How full a worker was a moment ago.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    worker: usize,
    seen: Seen,
    has_room: bool,
}

impl Load {
    /// How many of the worker's permits were taken.
    pub fn taken(&self) -> u32 {
        self.seen.taken()
    }

    /// Whether there was one for a newcomer.
    pub fn has_room(&self) -> bool {
        self.has_room
    }

    /// The worker.
    pub fn worker(&self) -> usize {
        self.worker
    }
}

impl<'a> Room<'a> {
    pub(crate) fn new(gates: &'a Gates, release: &'a dyn Fn(usize)) -> Self {
        Self { gates, release }
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.gates.len()
    }

    /// A number that is one more at each call, of all workers together.
    pub fn next_turn(&self) -> usize {
        self.gates.next_turn()
    }

    /// How full a worker is.
    pub fn load(&self, worker: usize) -> Load {
        let gate = self.gates.gate(worker);
        let seen = gate.seen();
        Load { worker, seen, has_room: gate.has_room(seen) }
    }

    /// Reserves a permit of `worker` if it has room: one atomic operation.
    #[inline]
    pub fn reserve(&self, worker: usize) -> Option<Reserved<'a>> {
        self.gates.gate(worker).try_take().then(|| self.reserved(worker))
    }

    /// Reserves a permit only if the worker is still as full as it was: so that a decision by comparison holds
    /// when it takes effect.
    pub fn reserve_at(&self, load: Load) -> Option<Reserved<'a>> {
        let gate = self.gates.gate(load.worker);
        (load.has_room && gate.try_take_at(load.seen).is_ok()).then(|| self.reserved(load.worker))
    }

    fn reserved(&self, worker: usize) -> Reserved<'a> {
        Reserved { room: *self, worker }
    }
}

/// A permit of one worker, given back when it is dropped unused.
#[derive(Debug)]
#[must_use = "it is given back when it is dropped"]
pub struct Reserved<'a> {
    room: Room<'a>,
    worker: usize,
}

impl Reserved<'_> {
    /// The worker whose permit it is.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Uses the permit: somebody else gives it back.
    pub(crate) fn spend(self) -> usize {
        let worker = self.worker;
        std::mem::forget(self);
        worker
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        (self.room.release)(self.worker);
    }
}

/// No handoff: every connection is served where it was accepted, and waits there if it must. What plain
/// `SO_REUSEPORT` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to say about it")]
pub struct NoHandoff;

impl Handoff for NoHandoff {
    fn place<'a>(&self, me: usize, room: &Room<'a>, _random: &mut Rng) -> Option<Reserved<'a>> {
        room.reserve(me)
    }

    fn waiting(&self) -> Waiting {
        Waiting::AtHome
    }
}

/// One queue that every worker claims from, for comparison: what a full worker accepts goes there, and each
/// worker that has room looks whether something is in it. Some look in vain.
///
/// It needs an [`Overflow`](crate::overflow::Overflow) that lets connections wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to say about it")]
pub struct SharedQueue;

impl Handoff for SharedQueue {
    fn place<'a>(&self, me: usize, room: &Room<'a>, _random: &mut Rng) -> Option<Reserved<'a>> {
        room.reserve(me)
    }

    fn waiting(&self) -> Waiting {
        Waiting::Claimed
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::placement::Placement;

    fn with_room(workers: usize, limit: u32, test: impl FnOnce(&Room<'_>, &Gates, &RefCell<Vec<usize>>)) {
        let gates = Gates::new(workers, limit);
        let given_back = RefCell::new(Vec::new());
        let release = |worker| given_back.borrow_mut().push(worker);
        test(&Room::new(&gates, &release), &gates, &given_back);
    }

    #[test]
    fn a_reserved_permit_is_given_back_unless_it_is_spent() {
        with_room(2, 1, |room, gates, given_back| {
            let reserved = room.reserve(1).expect("room");
            assert_eq!((reserved.worker(), gates.gate(1).taken(), gates.gate(0).taken()), (1, 1, 0));
            assert!(room.reserve(1).is_none());
            drop(reserved);
            assert_eq!(*given_back.borrow(), [1]);
            let reserved = room.reserve(0).expect("room");
            assert_eq!((reserved.worker(), reserved.spend()), (0, 0));
            assert_eq!(*given_back.borrow(), [1]);
        });
    }

    #[test]
    fn a_load_is_what_was_seen_and_is_reserved_only_if_it_still_is() {
        with_room(2, 2, |room, _, _| {
            assert_eq!(room.load(0).worker(), 0);
            let empty = room.load(1);
            assert_eq!((empty.worker(), empty.taken(), empty.has_room()), (1, 0, true));
            assert_eq!(room.reserve(1).expect("room").spend(), 1);
            assert!(room.reserve_at(empty).is_none(), "it has moved");
            assert_eq!(room.reserve_at(room.load(1)).expect("room").spend(), 1);
            let full = room.load(1);
            assert_eq!((full.taken(), full.has_room()), (2, false));
            assert!(room.reserve_at(full).is_none(), "it has not moved, and has no room");
        });
    }

    #[test]
    fn turns_are_counted_for_all() {
        with_room(3, 1, |room, _, _| {
            assert_eq!((room.workers(), room.next_turn(), room.next_turn()), (3, 0, 1));
            assert!(format!("{room:?}").starts_with("Room { gates: "));
        });
    }

    #[test]
    fn the_handoffs_for_comparison_stay_at_home() {
        let handoffs: [&dyn Handoff; 2] = [&NoHandoff, &SharedQueue];
        for handoff in handoffs {
            with_room(2, 1, |room, _, _| {
                let mut random = Rng::with_seed(1);
                assert_eq!(handoff.place(1, room, &mut random).expect("room").spend(), 1);
                assert!(handoff.place(1, room, &mut random).is_none(), "the other has room");
            });
        }
        assert_eq!(handoffs.map(Handoff::waiting), [Waiting::AtHome, Waiting::Claimed]);
        assert_eq!(Placement::default().waiting(), Waiting::Granted);
    }
}
