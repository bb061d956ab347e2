//! What a connection receives, and how its input ends.

use std::io;
use std::task::{Context, Poll, Waker, ready};

use super::Entry;
use crate::backend::{Backend, Conn, LoanOf};
use crate::request::RequestMissing;

/// How long a receive on a kicked connection has found nothing.
///
/// A receive that has to wait says nothing on a completion runtime: the bytes may be there, and the kernel has
/// not been asked yet. One that still waits after a whole sweep has found nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// None is waiting.
    Fresh,
    /// One waits, since the last sweep.
    Waiting,
    /// One has waited since before the last sweep.
    Swept,
    /// One has waited for a whole sweep: if it still does, the input is over.
    Exhausted,
    /// The handler was told that the input is over. It stays over.
    Over,
}

/// What the handler has to do with the input, and whether anything has come since the last sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// It does not wait, and nothing has come.
    Unasked,
    /// It does not wait, and something has come.
    Received,
    /// It waits, and something had come before.
    WaitingAgain,
    /// It waits, and nothing has come.
    Waiting,
}

impl<B: Backend> Entry<B> {
    /// Whether it is open, with nothing to receive and nothing being sent.
    pub(crate) fn is_quiet(&self) -> bool {
        let io = &mut *self.io.borrow_mut();
        if io.is_sending() || self.send_failed.get() || self.broken.get() || self.at_end.get() {
            return false;
        }
        io.poll_recv(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// Receives, and notes what it says of the connection.
    #[inline]
    pub(crate) fn poll_recv(
        &self,
        io: &mut B::Conn,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<LoanOf<B>>>> {
        let received = io.poll_recv(cx);
        match &received {
            Poll::Ready(Ok(Some(_))) => self.input.set(Input::Received),
            Poll::Ready(Ok(None)) => self.at_end.set(true),
            Poll::Ready(Err(_)) => self.broken.set(true),
            Poll::Pending => self.wait(cx),
        }
        received
    }

    fn wait(&self, cx: &Context<'_>) {
        self.input.set(match self.input.get() {
            Input::Received | Input::WaitingAgain => Input::WaitingAgain,
            Input::Unasked | Input::Waiting => Input::Waiting,
        });
        self.remember_receiver(cx);
    }

    /// As `poll_recv`, on a connection that is idle or was kicked, or whose requests are counted.
    #[cold]
    pub(crate) fn poll_recv_specially(
        &self,
        io: &mut B::Conn,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<LoanOf<B>>>> {
        if self.request.is_missing() {
            return Poll::Ready(Err(io::Error::other(RequestMissing)));
        }
        if let Some(first) = self.request.take_first() {
            self.look_again();
            return Poll::Ready(Ok(Some(first)));
        }
        self.poll_recv_anyway(io, cx)
    }

    /// Receives, whether a request is open or not.
    pub(crate) fn poll_recv_anyway(
        &self,
        io: &mut B::Conn,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<LoanOf<B>>>> {
        if self.kicked.get() {
            return self.poll_recv_kicked(io, cx);
        }
        if self.idle.get() {
            ready!(self.poll_readable(io, cx))?;
        }
        self.poll_recv(io, cx)
    }

    /// Waits until there is something to receive, without a buffer.
    pub(crate) fn poll_readable(&self, io: &mut B::Conn, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Poll::Ready(readable) = io.poll_readable(cx) else {
            self.wait(cx);
            return Poll::Pending;
        };
        self.idle.set(false);
        self.look_again();
        Poll::Ready(readable)
    }

    fn poll_recv_kicked(
        &self,
        io: &mut B::Conn,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<LoanOf<B>>>> {
        if self.patience.get() == Patience::Over {
            return Poll::Ready(Ok(None));
        }
        let received = self.poll_recv(io, cx);
        let patience = match (&received, self.patience.get()) {
            (Poll::Ready(_), _) => Patience::Fresh,
            (Poll::Pending, Patience::Fresh) => Patience::Waiting,
            (Poll::Pending, Patience::Exhausted) => Patience::Over,
            (Poll::Pending, waiting) => waiting,
        };
        self.patience.set(patience);
        if patience == Patience::Over { Poll::Ready(Ok(None)) } else { received }
    }
}
