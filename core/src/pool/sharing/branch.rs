//! A pool's own side of its desk: what it has asked for, and whom it calls.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use async_channel::Receiver;

use super::desk::{Copied, Desk, Desks};
use super::parcel::{Debt, Parcel};
use super::{Joining, Pack};
use crate::closing::UnderWay;
use crate::pool::Resource;
use crate::pool::inner::Inner;

/// What a pool that shares has besides.
pub(crate) struct Branch<R: Resource> {
    pub(crate) pool: Weak<Inner<R>>,
    pub(crate) pack: Pack<R>,
    pub(crate) desk: Arc<Desk<R>>,
    pub(crate) mailbox: Receiver<Parcel<R>>,
    /// Held, while the task that reads the mailbox has been told to end and has not.
    pub(crate) ending: Rc<Cell<Option<UnderWay>>>,
    desks: Arc<Desks<R>>,
    /// The others, as far as they were known the last time.
    others: RefCell<Copied<R>>,
    /// How many wishes are neither fulfilled nor taken back.
    asked: Cell<usize>,
    /// It has said that it may have something to spare. Not taken back before somebody has called in vain, so that
    /// it costs nothing to lend out the last one and to have it back.
    offers: Cell<bool>,
}

impl<R: Resource> Branch<R> {
    pub(crate) fn new(joining: Joining<R>, pool: Weak<Inner<R>>) -> Self {
        let Joining { desks, pack } = joining;
        let (desk, mailbox) = desks.open();
        let others = RefCell::new(desks.others(&desk));
        let (ending, asked, offers) = Default::default();
        Self { pool, pack, desk, mailbox, ending, desks, others, asked, offers }
    }

    /// Whether it has said that it may have something to spare.
    #[inline]
    pub(crate) fn offers(&self) -> bool {
        self.offers.get()
    }

    /// Says that it may have something to spare.
    pub(crate) fn offer(&self) {
        self.offers.set(true);
        self.desk.signs.offer();
    }

    /// Has nothing to spare. If there are wishes left, its own or another's, somebody else is called, beginning anywhere.
    pub(crate) fn withdraw(&self, random: f64) {
        self.offers.set(false);
        self.desk.signs.withdraw();
        // One who calls for others may have been called himself.
        if self.desk.signs.wants() || self.search(random, |desk| desk.signs.wants()).is_some() {
            self.call(random);
        }
    }

    /// Wishes for as many as wait, no more and no fewer. What was promised comes, whether it is needed or not.
    pub(crate) fn wish(&self, waiting: usize, random: impl FnOnce() -> f64) {
        let asked = self.asked.get();
        if waiting > asked && !self.mailbox.is_closed() {
            self.asked.set(waiting);
            self.desk.signs.wish(waiting - asked);
            self.call(random());
        }
        while self.asked.get() > waiting && self.desk.signs.take_wish() {
            self.fulfilled();
        }
    }

    /// A wish is not open any more.
    pub(crate) fn fulfilled(&self) {
        self.asked.set(self.asked.get().saturating_sub(1));
    }

    /// Takes a wish of another, beginning anywhere.
    pub(crate) fn take_wish(&self, random: f64) -> Option<Arc<Desk<R>>> {
        self.search(random, |desk| desk.signs.wants() && desk.signs.take_wish())
    }

    /// A slot of its own that goes to another.
    pub(crate) fn debt(&self) -> Debt<R> {
        Debt::new(&self.desk)
    }

    /// Leaves the others: what is on its way here goes home, and nothing comes back any more.
    pub(crate) fn leave(&self) {
        self.desks.close(&self.desk);
        if self.mailbox.close() && Rc::strong_count(&self.ending) > 1 {
            self.ending.set(Some(UnderWay::new()));
        }
        self.desk.signs.clear();
        let mut was_called = false;
        while let Ok(parcel) = self.mailbox.try_recv() {
            was_called |= matches!(parcel, Parcel::Call);
        }
        if was_called {
            self.withdraw(0.0);
        }
    }

    /// Calls one who may have something to spare.
    fn call(&self, random: f64) {
        self.search(random, |desk| desk.signs.call() && desk.mailbox.try_send(Parcel::Call).is_ok());
    }

    /// The first of the others that is what is sought.
    fn search(&self, random: f64, is_sought: impl Fn(&Desk<R>) -> bool) -> Option<Arc<Desk<R>>> {
        if self.others.borrow().0 != self.desks.version() {
            let others = self.desks.others(&self.desk);
            self.others.replace(others);
        }
        let others = &self.others.borrow().1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1")]
        let (before, after) = others.split_at((others.len() as f64 * random) as usize);
        after.iter().chain(before).find(|desk| is_sought(desk)).cloned()
    }
}

impl<R: Resource> Drop for Branch<R> {
    fn drop(&mut self) {
        self.leave();
    }
}
