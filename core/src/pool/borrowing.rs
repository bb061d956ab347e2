//! What a pool that shares does with others: it wishes, lends, takes in, and gives back.
//!
//! A pool wishes for as many as wait for it. Who has something to spare and sees a wish takes it, and sends a loan: an
//! idle resource with its slot, or a free slot alone. The borrower gives it back as soon as nobody waits there, or the
//! lender wants it: any resource of its own will do.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::select;

use super::Resource;
use super::inner::{Inner, Item, Slot, Tick, Timed, ticks};
use super::sharing::{Debt, Journey, Load, Parcel, Promise};
use super::stats::{Retired, bump};
use crate::closing::UnderWay;
use crate::contain::contain;

impl<R: Resource> Inner<R> {
    /// Begins to share, if this pool shall.
    pub(crate) fn join(&self) {
        let Some(branch) = &self.branch else { return };
        let (pool, mailbox, ending) =
            (Weak::clone(&branch.pool), branch.mailbox.clone(), Rc::clone(&branch.ending));
        (self.runtime.spawn)(Box::pin(async move {
            while let Ok(parcel) = mailbox.recv().await {
                let Some(pool) = pool.upgrade() else { break };
                let _panicked = contain(move || pool.open(parcel));
            }
            drop(ending.take());
        }));
        self.look();
    }

    /// Leaves the others; what is lent out is not waited for any more.
    pub(crate) fn leave_others(&self) {
        if let Some(branch) = &self.branch {
            branch.leave();
            self.slots().borrow_mut().write_off();
            self.tell_if_drained();
        }
    }

    /// Wants back what is lent out.
    pub(crate) fn recall(&self) {
        if let Some(branch) = &self.branch {
            branch.desk.signs.recall();
        }
        self.wish();
    }

    /// Wishes for as many as wait. Called whenever that may have changed.
    #[inline]
    pub(crate) fn wish(&self) {
        if let Some(branch) = &self.branch {
            let waiting = self.slots().borrow().waiting();
            branch.wish(waiting, || self.upkeep.random());
        }
    }

    /// Something may be to spare, and nobody here waits for it.
    #[inline]
    pub(crate) fn spare(&self) {
        if let Some(branch) = &self.branch
            && !branch.offers()
        {
            self.look();
        }
    }

    /// Gives what is to spare to those who wish for it.
    #[cold]
    fn look(&self) {
        let Some(branch) = &self.branch else { return };
        branch.offer();
        while self.slots().borrow().has_spare() {
            let Some(wisher) = branch.take_wish(self.upkeep.random()) else { return };
            let Some(spare) = self.slots().borrow_mut().lend() else { unreachable!("nobody else takes it") };
            let promise = Promise::new(wisher, branch.debt());
            match spare {
                Some(item) => self.send(item, Journey::Lent(promise)),
                None => drop(promise), // the slot arrives, empty
            }
        }
        branch.withdraw(self.upkeep.random());
    }

    fn open(&self, parcel: Parcel<R>) {
        match parcel {
            Parcel::Call => self.look(),
            Parcel::Loan(load, debt) => {
                if let Some(branch) = &self.branch {
                    branch.fulfilled();
                }
                self.borrow(load, debt);
            }
            Parcel::Home(load) => {
                let item = self.unpack(load);
                self.slots().borrow_mut().come_home();
                self.fill_slot(item);
            }
        }
        self.wish();
    }

    fn borrow(&self, load: Load<R>, debt: Debt<R>) {
        if self.slots().borrow().waiting() == 0 {
            return debt.pay(load);
        }
        let item = self.unpack(load);
        self.slots().borrow_mut().borrow(debt);
        self.fill_slot(item);
    }

    /// Gives a held slot, with what has arrived in it, to whoever shall have it.
    fn fill_slot(&self, item: Option<Item<R>>) {
        let slot = Slot::new(self);
        if let Some(item) = item {
            slot.keep();
            self.put(item);
        }
    }

    /// Takes a resource in; `None` when there is none, or it cannot be.
    fn unpack(&self, load: Load<R>) -> Option<Item<R>> {
        let unpack = load.packed?;
        bump(&self.counters.received);
        let Some(resource) = contain(|| unpack(&self.source)).flatten() else {
            self.count_retired(Retired::Moving);
            return None;
        };
        let until = |at: Instant| ticks(at.saturating_duration_since(self.begun));
        let expires = load.expires.map_or(Tick::MAX, until);
        Some(Box::new(Timed { resource, expires, idle_since: 0 }))
    }

    /// Pays a debt with a resource, which may be any.
    pub(crate) fn pay(&self, item: Item<R>, debt: Debt<R>) {
        self.send(item, Journey::Paid(debt));
    }

    /// Packs a resource, and sends it away with its slot. If that fails or is given up, the slot goes empty.
    fn send(&self, item: Item<R>, journey: Journey<R>) {
        let Some(branch) = &self.branch else { unreachable!("a pool with others") };
        let expires = (item.expires != Tick::MAX).then(|| self.begun + Duration::from_millis(item.expires));
        let leaving = Leaving { pool: Weak::clone(&branch.pool), is_packed: false };
        let (pack, desk) = (branch.pack, branch.desk.clone());
        let mut packing = Box::pin(async move {
            // Given up, they are dropped from below: the resource, its count, and then its slot.
            let journey = journey;
            let mut leaving = leaving;
            let packed = pack(item.resource).await;
            leaving.is_packed = packed.is_some();
            drop(leaving);
            journey.end(Load { packed, expires });
        });
        // At once, if that is enough.
        if packing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        let (sleep, patience) = (self.runtime.sleep, self.limits.acquire_timeout);
        let task = async move {
            let _under_way = UnderWay::new();
            let closed = pin!(desk.mailbox.closed());
            let given_up = select(sleep(patience), closed);
            let sending = async { drop(select(packing, given_up).await) };
            let _panicked = AssertUnwindSafe(sending).catch_unwind().await;
        };
        // A runtime that is ending, or not there, panics. The resource is dropped then, and this may be a drop.
        let _dropped = contain(|| (self.runtime.spawn)(Box::pin(task)));
    }
}

/// A resource that is about to leave its pool: counted when this is dropped.
struct Leaving<R: Resource> {
    pool: Weak<Inner<R>>,
    is_packed: bool,
}

impl<R: Resource> Drop for Leaving<R> {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else { return };
        if self.is_packed { bump(&pool.counters.given) } else { pool.count_retired(Retired::Moving) }
    }
}
