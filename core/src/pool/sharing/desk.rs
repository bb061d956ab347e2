//! The desks: where pools find each other.

use std::sync::Arc;

use async_channel::{Receiver, Sender};
use crossbeam_utils::CachePadded;

use super::parcel::Parcel;
use super::signs::Signs;
use crate::pool::Resource;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// What the others see of a pool.
pub(crate) struct Desk<R: Resource> {
    pub(crate) signs: CachePadded<Signs>,
    /// Unbounded, yet never longer than there are slots and pools: every loan in it is a slot, and a pool is called once
    /// for each time that it has said it may have something.
    pub(crate) mailbox: Sender<Parcel<R>>,
}

/// Everybody's desk.
pub(crate) struct Desks<R: Resource> {
    all: Mutex<Vec<Arc<Desk<R>>>>,
    /// How often that has changed; for those who keep a copy.
    version: AtomicUsize,
}

/// A list of desks, and how new it is.
pub(crate) type Copied<R> = (usize, Vec<Arc<Desk<R>>>);

impl<R: Resource> Desks<R> {
    pub(crate) fn new() -> Self {
        Self { all: Mutex::new(Vec::new()), version: AtomicUsize::new(0) }
    }

    /// Opens a desk, and its owner's end of it.
    pub(crate) fn open(&self) -> (Arc<Desk<R>>, Receiver<Parcel<R>>) {
        let (mailbox, received) = async_channel::unbounded();
        let desk = Arc::new(Desk { signs: CachePadded::new(Signs::new()), mailbox });
        self.change(|all| all.push(Arc::clone(&desk)));
        (desk, received)
    }

    pub(crate) fn close(&self, desk: &Arc<Desk<R>>) {
        self.change(|all| all.retain(|other| !Arc::ptr_eq(other, desk)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Desk<R>>>)) {
        let mut all = lock(&self.all);
        change(&mut all);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Acquire)
    }

    /// All desks but one's own.
    pub(crate) fn others(&self, own: &Arc<Desk<R>>) -> Copied<R> {
        let all = lock(&self.all);
        let others = all.iter().filter(|other| !Arc::ptr_eq(other, own)).cloned().collect();
        (self.version(), others)
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.all).len()
    }
}
