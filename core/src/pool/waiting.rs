//! A place in the queue of a pool.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use super::Resource;
use super::inner::{Inner, Item};
use super::slots::{Grant, Ticket};
use super::stats::bump;

/// Waits for its turn. Dropping it leaves the queue; what had been granted goes to the next.
pub(crate) struct Waiting<'a, R: Resource> {
    inner: &'a Inner<R>,
    place: Option<(Ticket, Instant)>,
}

impl<'a, R: Resource> Waiting<'a, R> {
    pub(crate) fn new(inner: &'a Inner<R>) -> Self {
        Self { inner, place: None }
    }
}

impl<R: Resource> Future for Waiting<'_, R> {
    /// What is granted; or how many wait already, if they are too many.
    type Output = Result<Grant<Item<R>>, usize>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = self.inner;
        let Some((ticket, since)) = self.place else {
            let ticket = inner.wait(cx.waker().clone())?;
            bump(&inner.counters.waited);
            self.place = Some((ticket, (inner.runtime.now)()));
            return Poll::Pending;
        };
        let Some(grant) = inner.come_for(ticket, cx.waker()) else { return Poll::Pending };
        self.place = None;
        let waited = (inner.runtime.now)().saturating_duration_since(since);
        inner.counters.wait_time.set(inner.counters.wait_time.get() + waited);
        Poll::Ready(Ok(grant))
    }
}

impl<R: Resource> Drop for Waiting<'_, R> {
    fn drop(&mut self) {
        if let Some((ticket, _since)) = self.place {
            self.inner.leave(ticket);
        }
    }
}
