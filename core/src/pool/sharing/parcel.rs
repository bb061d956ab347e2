//! What pools send each other, and what makes sure that it is not lost: whoever drops it, its slot comes home.

use std::sync::Arc;
use std::time::Instant;

use super::desk::Desk;
use crate::pool::Resource;

/// A resource off its core, and how it is taken in.
pub(crate) type Packed<R> = Box<dyn FnOnce(&<R as Resource>::Source) -> Option<R> + Send>;

/// What a pool finds in its mailbox.
pub(crate) enum Parcel<R: Resource> {
    /// Somebody may want what it has to spare.
    Call,
    /// A slot for one of its waiters, who have wished for it.
    Loan(Load<R>, Debt<R>),
    /// A slot that it had lent.
    Home(Load<R>),
}

/// What is in a slot that travels.
pub(crate) struct Load<R: Resource> {
    /// `None`: the slot is empty.
    pub(crate) packed: Option<Packed<R>>,
    /// When the resource is too old.
    pub(crate) expires: Option<Instant>,
}

impl<R: Resource> Load<R> {
    pub(crate) fn empty() -> Self {
        Self { packed: None, expires: None }
    }
}

/// A borrowed slot. Dropped, it goes home empty.
pub(crate) struct Debt<R: Resource> {
    /// `None` only when it is paid.
    home: Option<Arc<Desk<R>>>,
}

impl<R: Resource> Debt<R> {
    pub(crate) fn new(home: &Arc<Desk<R>>) -> Self {
        Self { home: Some(Arc::clone(home)) }
    }

    /// Whether the lender wants it back.
    pub(crate) fn is_reclaimed(&self) -> bool {
        self.home.as_ref().is_some_and(|home| home.signs.reclaims())
    }

    /// Sends it home.
    pub(crate) fn pay(mut self, load: Load<R>) {
        self.send_home(load);
    }

    fn send_home(&mut self, load: Load<R>) {
        if let Some(home) = self.home.take() {
            // A lender that is gone counts no slots.
            let _ = home.mailbox.try_send(Parcel::Home(load));
        }
    }
}

impl<R: Resource> Drop for Debt<R> {
    fn drop(&mut self) {
        self.send_home(Load::empty());
    }
}

/// A wish that was taken, and the slot that fulfils it. Dropped, the slot arrives empty.
pub(crate) struct Promise<R: Resource> {
    to: Arc<Desk<R>>,
    /// `None` only when it is kept.
    debt: Option<Debt<R>>,
}

impl<R: Resource> Promise<R> {
    pub(crate) fn new(to: Arc<Desk<R>>, debt: Debt<R>) -> Self {
        Self { to, debt: Some(debt) }
    }

    /// Sends the loan.
    pub(crate) fn keep(mut self, load: Load<R>) {
        self.send(load);
    }

    fn send(&mut self, load: Load<R>) {
        if let Some(debt) = self.debt.take() {
            // What a pool that is gone does not take is dropped, and the slot comes home.
            let _ = self.to.mailbox.try_send(Parcel::Loan(load, debt));
        }
    }
}

impl<R: Resource> Drop for Promise<R> {
    fn drop(&mut self) {
        self.send(Load::empty());
    }
}

/// Where a resource that is being packed goes.
pub(crate) enum Journey<R: Resource> {
    Lent(Promise<R>),
    Paid(Debt<R>),
}

impl<R: Resource> Journey<R> {
    pub(crate) fn end(self, load: Load<R>) {
        match self {
            Self::Lent(promise) => promise.keep(load),
            Self::Paid(debt) => debt.pay(load),
        }
    }
}
