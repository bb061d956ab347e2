//! An open connection, as the worker that serves it sees it.
//!
//! The handler's [`Connection`](crate::Connection), the task around the handler and the worker's sweep all hold
//! the same entry. The backend's connection is inside, so that the task can close it whatever the handler did
//! with its handle.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use slab::Slab;

use crate::backend::{Backend, Conn, LoanOf};
use crate::deadlines::{Deadlines, Look, Passed, Pulse};
use crate::request::{RequestMissing, RequestState};
use crate::upkeep::Tended;

/// How long a receive on a kicked connection has found nothing.
///
/// A receive that has to wait says nothing on a completion runtime: the bytes may be there, and the kernel has
/// not been asked yet. One that still waits after a whole sweep has found nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
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
enum Input {
    /// It does not wait, and nothing has come.
    Unasked,
    /// It does not wait, and something has come.
    Received,
    /// It waits, and something had come before.
    WaitingAgain,
    /// It waits, and nothing has come.
    Waiting,
}

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
    key: Cell<usize>,
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

    /// What the sweep does with each connection: one that has received nothing since the last sweep shall
    /// hold no buffer; one that was kicked and has found nothing shall end; one whose deadline has passed is cut.
    fn sweep(&self, deadlines: &Deadlines, now: Instant) {
        let look = self.look();
        let mut pulse = self.pulse.get();
        let own = self.deadlines.borrow();
        if let Some(passed) =
            pulse.beat(own.as_deref().unwrap_or(deadlines), look, now.duration_since(self.opened))
        {
            self.cut(Cut::TimedOut(passed));
        }
        self.pulse.set(pulse);
        if self.kicked.get() {
            match self.patience.get() {
                Patience::Waiting => self.patience.set(Patience::Swept),
                Patience::Swept => {
                    self.patience.set(Patience::Exhausted);
                    wake(&self.receiver);
                }
                Patience::Fresh | Patience::Exhausted | Patience::Over => {}
            }
        } else if !look.received && !self.idle.replace(true) {
            self.look_again();
            wake(&self.receiver);
        }
    }

    /// What has happened since the last sweep.
    fn look(&self) -> Look {
        let (received, waiting) = match self.input.get() {
            Input::Unasked => (false, false),
            Input::Received => (true, false),
            Input::WaitingAgain => (true, true),
            Input::Waiting => (false, true),
        };
        self.input.set(if waiting { Input::Waiting } else { Input::Unasked });
        let io = self.io.borrow();
        let sending = io.is_sending();
        let unacknowledged = if sending { io.unacknowledged() } else { 0 };
        Look {
            received,
            sent: self.flushed.take() | (self.unacknowledged.replace(unacknowledged) != unacknowledged),
            sending,
            waiting,
            in_request: self.request.is_open(),
            request_began: self.request.began.take(),
        }
    }
}

/// An outbound connection that a worker was asked to look after. Its holder closes it.
impl<B: Backend> Tended for Entry<B> {
    fn sweep(self: Rc<Self>, now: Instant) {
        Self::sweep(&self, &Deadlines::none(), now);
    }

    fn close(&self) {}
}

fn wake(slot: &Cell<Option<Waker>>) {
    if let Some(waker) = slot.take() {
        waker.wake_by_ref();
        slot.set(Some(waker));
    }
}

/// All open connections of one worker.
pub(crate) struct Registry<B: Backend> {
    entries: RefCell<Slab<Rc<Entry<B>>>>,
    emptied: RefCell<Option<Waker>>,
}

impl<B: Backend> Registry<B> {
    pub(crate) fn new() -> Self {
        Self { entries: RefCell::new(Slab::new()), emptied: RefCell::default() }
    }

    pub(crate) fn insert(&self, entry: Rc<Entry<B>>) {
        let mut entries = self.entries.borrow_mut();
        let vacant = entries.vacant_entry();
        entry.key.set(vacant.key());
        vacant.insert(entry);
    }

    /// Removes an entry; whoever waits for the registry to be empty is told when it is.
    pub(crate) fn remove(&self, entry: &Entry<B>) {
        let mut entries = self.entries.borrow_mut();
        entries.remove(entry.key.get());
        if entries.is_empty() {
            drop(entries);
            if let Some(waker) = self.emptied.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether no connection is open; if one is, the caller is woken when the last has gone.
    pub(crate) fn is_empty(&self, cx: &Context<'_>) -> bool {
        let empty = self.entries.borrow().is_empty();
        if !empty {
            *self.emptied.borrow_mut() = Some(cx.waker().clone());
        }
        empty
    }

    pub(crate) fn sweep(&self, deadlines: &Deadlines, now: Instant) {
        self.each(|entry| entry.sweep(deadlines, now));
    }

    pub(crate) fn kick_all(&self) {
        self.each(Entry::kick);
    }

    pub(crate) fn abort_all(&self) {
        self.each(|entry| entry.cut(Cut::Aborted));
    }

    fn each(&self, act: impl Fn(&Entry<B>)) {
        for (_, entry) in self.entries.borrow().iter() {
            act(entry);
        }
    }
}
