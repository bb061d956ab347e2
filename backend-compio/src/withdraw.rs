//! Withdrawing what is in flight on a descriptor, without losing what it brings.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use compio::buf::BufResult;
use compio::runtime::{Submit, submit};
use rustix::io::Errno;

use crate::op::Withdraw;

/// A request to end what is in flight on `S`, or none.
///
/// The operations stay where they are and are polled as ever. One that has been withdrawn completes with
/// [`is_withdrawn`]; one that was faster completes with its bytes. A request that came to nothing is repeated
/// for as long as the caller asks.
pub(crate) struct Withdrawal<S: AsFd + 'static>(Option<Submit<Withdraw<S>>>);

impl<S: AsFd + 'static> Withdrawal<S> {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.0.is_some()
    }

    /// Asks for the end of what is in flight on `target`; ready when the kernel has answered.
    ///
    /// # Errors
    /// The request could not be submitted.
    pub(crate) fn poll_ask(&mut self, target: &Rc<S>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let request = self.0.get_or_insert_with(|| submit(Withdraw(Rc::clone(target))));
        let BufResult(answer, _) = ready!(Pin::new(request).poll(cx));
        self.0 = None;
        Poll::Ready(answer.map(|_count| ()))
    }

    /// Waits for the answer to a request that is under way.
    pub(crate) fn poll_answered(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(request) = &mut self.0 {
            let _ = ready!(Pin::new(request).poll(cx));
            self.0 = None;
        }
        Poll::Ready(())
    }
}

/// Whether an operation has ended because it was withdrawn, with nothing achieved.
pub(crate) fn is_withdrawn(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::CANCELED | Errno::INTR))
}
