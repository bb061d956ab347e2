//! The one close path: for a handler that has returned, and for every connection that is let go politely.
//!
//! Flush, tell the peer, take off its unread input up to a limit and a deadline, close. Closing with unread
//! input makes the kernel send a reset, which can overtake the last reply and destroy it.

use std::future::poll_fn;
use std::net::Shutdown;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::backend::{Backend, Conn};
use crate::entry::Entry;

/// How many bytes of unread input are taken off before the connection is closed all the same.
const DISCARD_MAX: usize = 1 << 20;

/// Closes politely, within `linger`; a connection that is broken or aborted is closed at once.
///
/// # Cancel safety
/// None is needed: the task that calls it is never dropped before its end.
pub(crate) async fn close<B: Backend>(entry: &Entry<B>, linger: Duration) {
    if !entry.detached.get() && !entry.broken.get() && !entry.is_aborted() {
        let mut farewell = Farewell { entry, told: entry.at_end.get(), discarded: 0 };
        let at_once = poll_fn(|cx| Poll::Ready(farewell.poll(cx))).await;
        if at_once.is_pending() {
            // Only who has to wait pays for a timer.
            let mut deadline = pin!(B::sleep(linger));
            poll_fn(|cx| {
                entry.remember_task(cx);
                if entry.is_aborted() || farewell.poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                deadline.as_mut().poll(cx)
            })
            .await;
        }
    }
    poll_fn(|cx| entry.io.borrow_mut().poll_close(cx)).await;
}

struct Farewell<'a, B: Backend> {
    entry: &'a Entry<B>,
    /// The peer knows that nothing more will come, or has left first.
    told: bool,
    discarded: usize,
}

impl<B: Backend> Farewell<'_, B> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut io = self.entry.io.borrow_mut();
        if ready!(io.poll_flush(cx)).is_err() {
            return Poll::Ready(());
        }
        if self.entry.at_end.get() {
            return Poll::Ready(()); // nothing is unread, and closing says all there is to say
        }
        if !self.told {
            self.told = true;
            if io.shutdown(Shutdown::Write).is_err() {
                return Poll::Ready(());
            }
        }
        while self.discarded < DISCARD_MAX {
            match ready!(io.poll_recv(cx)) {
                Ok(Some(loan)) => self.discarded += loan.as_ref().len(),
                Ok(None) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}
