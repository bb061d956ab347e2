//! Where a receive puts what it found, for its connection to pick up.
//!
//! The kernel's report reaches the inbox whether anybody still holds the operation or not. That is what makes it
//! possible to withdraw a receive in compio's own way, by dropping it, and to lose nothing.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::task::{Context, Poll, Waker};

use corepool_core::buffer::Buffer;

/// What receiving has led to, and nobody has asked for yet.
#[derive(Default)]
pub(crate) enum Found {
    #[default]
    Nothing,
    /// There is something to receive.
    Readable,
    Bytes(Buffer),
    Error(io::Error),
    /// The end of the stream, for ever.
    End,
}

/// The inbox of one connection.
#[derive(Default)]
pub(crate) struct Inbox(RefCell<Content>);

#[derive(Default)]
struct Content {
    found: Found,
    /// A receive is in flight.
    expecting: bool,
    waker: Option<Waker>,
}

impl Inbox {
    /// Says that a receive is going to deliver.
    #[inline]
    pub(crate) fn expect(&self) {
        self.0.borrow_mut().expecting = true;
    }

    /// Delivers what a receive has found.
    #[inline]
    pub(crate) fn deliver(&self, found: Found) {
        let content = &mut *self.0.borrow_mut();
        content.found = found;
        content.expecting = false;
        if let Some(waker) = &content.waker {
            waker.wake_by_ref();
        }
    }

    /// Waits until no receive is in flight.
    #[inline]
    pub(crate) fn poll_delivered(&self, cx: &Context<'_>) -> Poll<()> {
        let content = &mut *self.0.borrow_mut();
        if !content.expecting {
            return Poll::Ready(());
        }
        if !content.waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            content.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Takes out what there is.
    #[inline]
    pub(crate) fn take(&self) -> Found {
        mem::take(&mut self.0.borrow_mut().found)
    }

    /// Puts something in, for later.
    #[inline]
    pub(crate) fn put(&self, found: Found) {
        self.0.borrow_mut().found = found;
    }
}
