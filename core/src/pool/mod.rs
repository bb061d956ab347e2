//! The pool of one core: what is expensive to make is lent out, comes back, and is lent out again.
//!
//! * [`LocalPool`]: the pool; [`Builder`]: its configuration. [`Lease`]: what it lends out.
//! * [`Resource`]: what a pool can hold. [`Upstream`] makes connections for one.
//! * [`Sharing`]: pools of several cores that help each other out, with what is [`Movable`]. `borrowing` does it.
//! * `slots`: who gets what; decides, and does nothing. `inner`: the pool round it. `waiting`: a place in its queue.
//!   `maintenance`: what it does by itself. `hooks`, `stats`, `error`: what it tells.
//!
//! A pool belongs to one worker and never leaves its thread: there is no lock, and no atomic that is written, in it. Only
//! a pool that shares has some, for when it has nothing left, or something again after that.
//! Time is that of the worker's last sweep, so that an acquire reads no clock.

mod borrowing;
mod builder;
mod error;
mod hooks;
mod inner;
mod lease;
mod maintenance;
mod movable;
mod resource;
mod sharing;
mod slots;
mod stats;
mod upstream;
mod waiting;

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::handler::WorkerInfo;
use inner::{Inner, Item, Slot};
use slots::Grant;
use stats::bump;
use waiting::Waiting;

pub use builder::Builder;
pub use error::{AcquireError, InvalidPool};
pub use lease::Lease;
pub use movable::Movable;
pub use resource::Resource;
pub use sharing::Sharing;
pub use stats::{PoolStats, Retired, RetiredCounts};
pub use upstream::Upstream;

/// The pool of one worker. Clones are the same pool.
///
/// ```
/// use corepool_core::pool::{LocalPool, Resource};
/// use corepool_core::WorkerInfo;
///
/// struct Parser(Vec<u8>);
///
/// impl Resource for Parser {
///     type Source = usize;
///     type Error = std::convert::Infallible;
///
///     async fn create(capacity: &usize) -> Result<Self, Self::Error> {
///         Ok(Self(Vec::with_capacity(*capacity)))
///     }
///
///     fn recycle(&mut self) -> bool {
///         self.0.clear();
///         true
///     }
/// }
///
/// # async fn example(worker: &WorkerInfo) -> Result<(), Box<dyn std::error::Error>> {
/// let pool = LocalPool::<Parser>::builder().max_size(4).build(worker, 1024)?;
/// let mut parser = pool.get().await?;
/// parser.0.push(1);
/// drop(parser); // it is idle now
/// # Ok(())
/// # }
/// ```
pub struct LocalPool<R: Resource> {
    inner: Rc<Inner<R>>,
}

impl<R: Resource> LocalPool<R> {
    /// A pool to be configured.
    pub fn builder() -> Builder<R> {
        Builder::default()
    }

    fn new(builder: Builder<R>, max: usize, worker: &WorkerInfo, source: R::Source) -> Self {
        Self { inner: Inner::new(builder, max, worker, source) }
    }

    /// Acquires a resource: an idle one that passes its check, or a new one, or the next that comes back, or is borrowed
    /// from another core if this pool [shares](Builder::share). Who has waited longest is served first.
    ///
    /// # Errors
    /// Nothing was to be had within the acquire timeout, too many wait, the pool is closed, or a new one could not be
    /// made.
    ///
    /// # Panics
    /// When the resource's own code does. Nothing of the pool is lost then.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the queue; what it had been given goes to the next. A resource that is being made or
    /// checked is dropped.
    pub async fn get(&self) -> Result<Lease<R>, AcquireError<R::Error>> {
        let mut acquiring = pin!(self.acquire());
        // Only who has to wait pays for a timer.
        let at_once = poll_fn(|cx| Poll::Ready(acquiring.as_mut().poll(cx))).await;
        if let Poll::Ready(acquired) = at_once {
            return acquired;
        }
        let after = self.inner.limits.acquire_timeout;
        let mut timer = (self.inner.runtime.sleep)(after);
        poll_fn(|cx| {
            if let Poll::Ready(acquired) = acquiring.as_mut().poll(cx) {
                return Poll::Ready(acquired);
            }
            timer.as_mut().poll(cx).map(|()| {
                bump(&self.inner.counters.timed_out);
                Err(AcquireError::TimedOut { after })
            })
        })
        .await
    }

    /// Acquires an idle resource, if there is one whose check passes without a wait.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    pub fn try_get(&self) -> Option<Lease<R>> {
        let mut candidate = Some(self.inner.ask_idle()?);
        let slot = Slot::new(&self.inner);
        while let Some(mut item) = candidate {
            slot.holds(Retired::Check);
            let passed = pin!(item.resource.check()).poll(&mut Context::from_waker(Waker::noop()));
            if passed == Poll::Ready(true) {
                return Some(self.lend(slot, item));
            }
            slot.retire(item.resource, Retired::Check);
            candidate = self.inner.exchange();
        }
        None
    }

    /// Makes idle resources until there are as many as the least to be kept: for who wants to begin with all of them, and
    /// to know why that fails. The pool does it by itself as well, and tells nobody. It takes as long as making them does.
    ///
    /// # Errors
    /// One could not be made.
    ///
    /// # Cancel safety
    /// Dropping the future drops what is being made; the rest stays.
    pub async fn warm_up(&self) -> Result<(), R::Error> {
        while self.inner.lacks_idle() {
            self.inner.make_idle().await?;
        }
        Ok(())
    }

    /// Changes the most resources there may be, at least 1. With fewer than there are, idle ones are dropped now, and
    /// those that are lent out when they come back.
    pub fn resize(&self, max: usize) {
        self.inner.resize(max.max(1));
    }

    /// Drops the idle resources that are not to be kept: after a failover, for example. Those that are lent out are not
    /// asked about.
    pub fn retain(&self, keep: impl FnMut(&R) -> bool) {
        self.inner.retain(keep);
    }

    /// Closes the pool: idle resources are dropped, whoever waits is told, and what is lent out is dropped when it comes
    /// back; what is borrowed from another core goes home then. The worker does that when it leaves.
    pub fn close(&self) {
        self.inner.close_slots();
    }

    /// Waits until the pool is closed and everything that was lent out has come back, from other cores as well.
    pub async fn drained(&self) {
        poll_fn(|cx| if self.inner.is_drained(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// The pool at this moment.
    pub fn stats(&self) -> PoolStats {
        self.inner.stats()
    }

    /// What resources are made from.
    pub fn source(&self) -> &R::Source {
        &self.inner.source
    }

    async fn acquire(&self) -> Result<Lease<R>, AcquireError<R::Error>> {
        let inner = &*self.inner;
        let grant = match inner.ask() {
            Some(grant) => grant,
            None => Waiting::new(inner).await.map_err(|waiting| AcquireError::Crowded { waiting })?,
        };
        let mut candidate = match grant {
            Grant::Closed => return Err(AcquireError::Closed),
            Grant::Resource(item) => Some(item),
            Grant::Slot => None,
        };
        let slot = Slot::new(inner);
        while let Some(mut item) = candidate {
            slot.holds(Retired::Check);
            if item.resource.check().await {
                return Ok(self.lend(slot, item));
            }
            slot.retire(item.resource, Retired::Check);
            candidate = inner.exchange();
        }
        let created = R::create(&inner.source).await;
        let resource = created.map_err(|error| {
            bump(&inner.counters.create_failed);
            AcquireError::Create(error)
        })?;
        let item = inner.made(resource);
        slot.holds(Retired::Discarded);
        Ok(self.lend(slot, item))
    }

    #[inline]
    fn lend(&self, slot: Slot<'_, R>, mut item: Item<R>) -> Lease<R> {
        hooks::call(&self.inner.hooks.acquire, &mut item.resource);
        slot.keep();
        bump(&self.inner.counters.acquired);
        Lease::new(Rc::clone(&self.inner), item)
    }
}

impl<R: Resource> Clone for LocalPool<R> {
    fn clone(&self) -> Self {
        Self { inner: Rc::clone(&self.inner) }
    }
}

impl<R: Resource> fmt::Debug for LocalPool<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPool").field("stats", &self.stats()).finish_non_exhaustive()
    }
}
