//! A resource that is lent out.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::Resource;
use super::inner::{Inner, Item, Slot};
use super::stats::Retired;

/// A resource of a pool, in the hands of its user. It goes back when this is dropped, if it wants to be recycled.
pub struct Lease<R: Resource> {
    inner: Rc<Inner<R>>,
    /// `None` only while it is dropped.
    item: Option<Item<R>>,
}

impl<R: Resource> Lease<R> {
    #[inline]
    pub(crate) fn new(inner: Rc<Inner<R>>, item: Item<R>) -> Self {
        Self { inner, item: Some(item) }
    }

    /// Drops the resource instead of giving it back; somebody else may have a new one.
    pub fn discard(mut lease: Self) {
        if let Some(item) = lease.item.take() {
            Slot::new(&lease.inner).retire(item.resource, Retired::Discarded);
        }
    }

    /// Takes the resource out of the pool, for good.
    pub fn take(mut lease: Self) -> R {
        let item = lease.item.take().unwrap_or_else(|| unreachable!("{IS_THERE}"));
        lease.inner.count_retired(Retired::Discarded);
        drop(Slot::new(&lease.inner));
        item.resource
    }
}

const IS_THERE: &str = "a lease has its resource until it is dropped";

impl<R: Resource> Drop for Lease<R> {
    #[inline]
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.inner.release(item);
        }
    }
}

impl<R: Resource> Deref for Lease<R> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        match &self.item {
            Some(item) => &item.resource,
            None => unreachable!("{IS_THERE}"),
        }
    }
}

impl<R: Resource> DerefMut for Lease<R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut R {
        match &mut self.item {
            Some(item) => &mut item.resource,
            None => unreachable!("{IS_THERE}"),
        }
    }
}

impl<R: Resource + fmt::Debug> fmt::Debug for Lease<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&**self).finish()
    }
}
