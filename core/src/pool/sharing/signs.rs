//! What a pool shows the others: how many it wants from them, and whether it may have something to spare.
//!
//! A wish and an offer that come at the same moment do not miss each other: each is shown before the other is looked
//! for, with a fence between. So either who wishes sees the offer, and calls; or who offers sees the wish.

use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence};

/// The signs of one pool. Its own thread raises and shows them; others take a wish, or call.
#[derive(Debug)]
pub(crate) struct Signs {
    /// What its waiters want, and nobody has promised yet.
    wishes: AtomicUsize,
    /// It may have something to spare, and nobody has called it since it said so.
    offers: AtomicBool,
    /// It is closing, and wants back what it has lent.
    recalls: AtomicBool,
}

impl Signs {
    pub(crate) fn new() -> Self {
        Self { wishes: AtomicUsize::new(0), offers: AtomicBool::new(false), recalls: AtomicBool::new(false) }
    }

    /// Wants more. Who offers must be looked for next.
    pub(crate) fn wish(&self, more: usize) {
        self.wishes.fetch_add(more, Ordering::AcqRel);
        fence(Ordering::SeqCst);
    }

    /// Takes a wish: to fulfil it, or to take it back.
    pub(crate) fn take_wish(&self) -> bool {
        let less = |wishes: usize| wishes.checked_sub(1);
        self.wishes.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    /// Says that it may have something to spare. Who wishes must be looked for next.
    pub(crate) fn offer(&self) {
        self.offers.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Says that it has nothing to spare.
    pub(crate) fn withdraw(&self) {
        self.offers.store(false, Ordering::Release);
    }

    /// Whether it may have something to spare. If so it must be called, and nobody else calls it.
    pub(crate) fn call(&self) -> bool {
        self.offers.load(Ordering::Acquire) && self.offers.swap(false, Ordering::AcqRel)
    }

    /// Whether it wants anything.
    pub(crate) fn wants(&self) -> bool {
        self.wishes.load(Ordering::Acquire) > 0
    }

    /// Wants back what it has lent, and nothing else.
    pub(crate) fn recall(&self) {
        self.recalls.store(true, Ordering::Release);
    }

    /// Whether what it has lent shall come back.
    pub(crate) fn reclaims(&self) -> bool {
        self.wants() || self.recalls.load(Ordering::Acquire)
    }

    /// Shows nothing any more.
    pub(crate) fn clear(&self) {
        self.wishes.store(0, Ordering::Release);
        self.withdraw();
    }
}
