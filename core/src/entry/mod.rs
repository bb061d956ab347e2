//! An open connection, as the worker that serves it sees it.
//!
//! The handler's [`Connection`](crate::Connection), the task around the handler and the worker's sweep all hold
//! the same entry. The backend's connection is inside, so that the task can close it whatever the handler did
//! with its handle.

mod receive;
mod sweep;

use std::cell::{Cell, RefCell};
use std::io;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use self::receive::{Input, Patience};
use crate::backend::{Backend, Conn, LoanOf};
use crate::deadlines::{Deadlines, Passed, Pulse};
use crate::request::RequestState;

/// Why a connection is ended from our side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server ends.
    Aborted,
    /// A deadline has passed; the close is polite unless the peer does not read.
    TimedOut(Passed),
}

/// One open connection.
pub(crate) struct Entry<B: Backend> {
    /// Borrowed for the length of one poll, never across one.
    pub(crate) io: RefCell<B::Conn>,
    input: Cell<Input>,
    /// The next receive is not just a receive: the connection is idle or kicked, or requests are counted.
    pub(crate) is_special: Cell<bool>,
    /// Idle: the next receive waits for readiness, without a buffer.
    idle: Cell<bool>,
    /// The input shall end from our side: what has arrived is received, nothing more is waited for.
    pub(crate) kicked: Cell<bool>,
    /// What the end of a kicked connection's input waits for.
    patience: Cell<Patience>,
    /// The peer's end of the stream was seen.
    pub(crate) at_end: Cell<bool>,
    /// The socket has reported an error: there is nobody left to say goodbye to.
    pub(crate) broken: Cell<bool>,
    /// The socket was given away.
    pub(crate) detached: Cell<bool>,
    /// A send failed while nobody was waiting for it; `send_error` says how.
    pub(crate) send_failed: Cell<bool>,
    send_error: Cell<Option<io::Error>>,
    /// Something was sent since its user has said that nothing is outstanding.
    pub(crate) unsettled: Cell<bool>,
    /// A send has ended since the last sweep.
    pub(crate) flushed: Cell<bool>,
    /// What the peer had not acknowledged at the last sweep, while something was being sent.
    unacknowledged: Cell<usize>,
    pub(crate) opened: Instant,
    /// When something was first sent.
    replied: Cell<Option<Instant>>,
    /// What requests have to do with it.
    pub(crate) request: RequestState<LoanOf<B>>,
    pulse: Cell<Pulse>,
    /// Deadlines of its own.
    pub(crate) deadlines: RefCell<Option<Box<Deadlines>>>,
    cut: Cell<Option<Cut>>,
    task: Cell<Option<Waker>>,
    receiver: Cell<Option<Waker>>,
    /// Where the registry has it.
    pub(crate) key: Cell<usize>,
}

impl<B: Backend> Entry<B> {
    /// `requests_only`: nothing is received but within a request.
    pub(crate) fn new(io: B::Conn, requests_only: bool) -> Self {
        Self {
            io: RefCell::new(io),
            input: Cell::new(Input::Unasked),
            is_special: Cell::new(requests_only),
            idle: Cell::new(false),
            kicked: Cell::new(false),
            patience: Cell::new(Patience::Fresh),
            at_end: Cell::new(false),
            broken: Cell::new(false),
            detached: Cell::new(false),
            send_failed: Cell::new(false),
            send_error: Cell::default(),
            unsettled: Cell::new(false),
            flushed: Cell::new(false),
            unacknowledged: Cell::new(0),
            opened: B::now(),
            replied: Cell::new(None),
            request: RequestState::new(requests_only),
            pulse: Cell::new(Pulse::new()),
            deadlines: RefCell::new(None),
            cut: Cell::new(None),
            task: Cell::default(),
            receiver: Cell::default(),
            key: Cell::new(usize::MAX),
        }
    }

    /// Something is being sent.
    #[inline]
    pub(crate) fn sends(&self) {
        self.unsettled.set(true);
        if self.replied.get().is_none() {
            self.replied.set(Some(B::now()));
        }
    }

    /// When something was first sent.
    pub(crate) fn replied(&self) -> Option<Instant> {
        self.replied.get()
    }

    /// Says anew whether the next receive is just a receive.
    pub(crate) fn look_again(&self) {
        self.is_special.set(self.idle.get() || self.kicked.get() || self.request.is_special());
    }

    /// Remembers the task that serves this connection, so that it can be woken from outside. Once is enough: a
    /// task is woken by any waker that it was ever polled with.
    #[inline]
    pub(crate) fn remember_task(&self, cx: &Context<'_>) {
        let known = self.task.take().unwrap_or_else(|| cx.waker().clone());
        self.task.set(Some(known));
    }

    /// Remembers who waits to receive, so that an idle receive can be made to give its buffer back.
    #[inline]
    pub(crate) fn remember_receiver(&self, cx: &Context<'_>) {
        let known = self.receiver.take().filter(|known| known.will_wake(cx.waker()));
        self.receiver.set(known.or_else(|| Some(cx.waker().clone())));
    }

    /// Drives a send that nobody is waiting for any more; the peer still wants it.
    #[cold]
    pub(crate) fn drive_send(&self, io: &mut B::Conn, cx: &mut Context<'_>) {
        if let Poll::Ready(Err(error)) = io.poll_flush(cx) {
            self.send_failed.set(true);
            self.send_error.set(Some(error));
        }
    }

    /// As `drive_send`, if there is one.
    pub(crate) fn drive_unsent(&self, io: &mut B::Conn, cx: &mut Context<'_>) {
        if io.is_sending() {
            self.drive_send(io, cx);
        }
    }

    /// The error to report of a flush: that of an earlier send which nobody has been told of, or its own.
    #[cold]
    pub(crate) fn take_send_error(&self, flushed: io::Result<()>) -> io::Error {
        self.broken.set(true);
        self.send_failed.set(false);
        let earlier = self.send_error.take();
        earlier.or_else(|| flushed.err()).unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Makes the task drop its handler and close, at its next poll.
    pub(crate) fn cut(&self, cut: Cut) {
        // An abort comes before a deadline: nothing is waited for then.
        if self.cut.get() != Some(Cut::Aborted) {
            self.cut.set(Some(cut));
        }
        wake(&self.task);
    }

    pub(crate) fn was_cut(&self) -> Option<Cut> {
        self.cut.get()
    }

    /// Whether it shall be closed at once, whatever that loses.
    pub(crate) fn is_aborted(&self) -> bool {
        self.cut.get() == Some(Cut::Aborted)
    }

    /// Ends the input: after the bytes that are already there, the handler sees the end of the stream.
    ///
    /// Not by `shutdown(2)`: a socket whose input is shut down resets a peer that goes on sending while the last
    /// reply is on its way.
    pub(crate) fn kick(&self) {
        self.kicked.set(true);
        self.look_again();
        wake(&self.receiver);
    }
}

fn wake(slot: &Cell<Option<Waker>>) {
    if let Some(waker) = slot.take() {
        waker.wake_by_ref();
        slot.set(Some(waker));
    }
}
