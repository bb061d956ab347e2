//! What can be done with an open connection, whoever has opened it: receive and send, both at once.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::backend::{Backend, Conn, Detached, LoanOf, SendBuf};
use crate::buffer::Buffer;
use crate::chunk::Chunk;
use crate::entry::Entry;

/// Both directions of an open connection on this core.
///
/// A [`Connection`](crate::Connection) that a client has opened and an [`Outbound`](crate::Outbound) that we have
/// opened both dereference to it. Code that moves bytes between the two takes `&mut Duplex<B>` and works on either.
pub struct Duplex<B: Backend> {
    pub(crate) entry: Rc<Entry<B>>,
}

impl<B: Backend> Duplex<B> {
    pub(crate) fn new(entry: Rc<Entry<B>>) -> Self {
        Self { entry }
    }

    /// Receives what has arrived, at least one byte; `None` when the peer has finished, or the server drains.
    ///
    /// # Errors
    /// What the socket reports: a reset by the peer, for example.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: what arrives later is there at the next call.
    pub fn recv(&mut self) -> Recv<'_, B> {
        Recv(self)
    }

    /// The poll form of [`recv`](Self::recv). It also drives a send that was given up before its end.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    #[inline]
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Chunk<LoanOf<B>>>>> {
        let entry = &*self.entry;
        let io = &mut *entry.io.borrow_mut();
        if io.is_sending() {
            entry.drive_send(io, cx);
        }
        let received =
            if entry.is_special.get() { entry.poll_recv_specially(io, cx) } else { entry.poll_recv(io, cx) };
        received.map_ok(|loan| loan.map(Chunk))
    }

    /// Sends all of `bytes`: a received [`Chunk`], a [`buffer`](Self::buffer), a `Vec<u8>`, or something static.
    ///
    /// It waits until the kernel has taken everything. The memory goes back where it came from then.
    ///
    /// # Errors
    /// What the socket reports. The unsent rest is dropped.
    ///
    /// # Cancel safety
    /// Once the send has begun, it goes on when the future is dropped: it is finished by the next receive, send
    /// or flush, or when the handler ends. It begins with the call, if nothing sent before is unflushed, and else
    /// when that is flushed; a future that is dropped before has sent nothing.
    pub fn send(&mut self, bytes: impl Into<SendBuf<LoanOf<B>>>) -> SendAll<'_, B> {
        if self.is_sending() {
            return SendAll { duplex: self, bytes: Some(bytes.into()) };
        }
        self.start_send(bytes);
        self.flush()
    }

    /// Finishes a send that was given up.
    ///
    /// # Errors
    /// What the socket reports of it.
    ///
    /// # Cancel safety
    /// As [`send`](Self::send).
    pub fn flush(&mut self) -> SendAll<'_, B> {
        SendAll { duplex: self, bytes: None }
    }

    /// The poll form of [`flush`](Self::flush).
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[inline]
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.entry.io.borrow_mut().poll_flush(cx));
        self.entry.flushed.set(true);
        if flushed.is_ok() && !self.entry.send_failed.get() {
            return Poll::Ready(Ok(()));
        }
        Poll::Ready(Err(self.entry.take_send_error(flushed)))
    }

    /// Finishes sending and tells the peer that nothing more will come. Receiving goes on.
    ///
    /// # Errors
    /// What the socket reports.
    ///
    /// # Cancel safety
    /// As [`send`](Self::send).
    pub async fn finish(&mut self) -> io::Result<()> {
        self.flush().await?;
        self.shutdown_write()
    }

    /// Begins a send; what was sent before has been flushed.
    #[inline]
    pub(crate) fn start_send(&self, bytes: impl Into<SendBuf<LoanOf<B>>>) {
        self.entry.sends();
        self.entry.io.borrow_mut().start_send(bytes.into());
    }

    fn is_sending(&self) -> bool {
        self.entry.io.borrow().is_sending()
    }

    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        self.entry.io.borrow().shutdown(Shutdown::Write)
    }

    /// Lends an empty buffer of this core's pool, to write a reply into. Nothing is allocated in steady state.
    pub fn buffer(&self) -> Buffer {
        self.entry.io.borrow().buffer()
    }

    /// Takes the socket out of the server, with the bytes that were received and not read: to hand it to other
    /// code, or to another runtime. A send in flight is finished first.
    ///
    /// # Errors
    /// What the send in flight reports.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the connection as it was, and usable.
    pub async fn detach(&mut self) -> io::Result<Detached<B::Socket>> {
        let detached = poll_fn(|cx| self.entry.io.borrow_mut().poll_detach(cx)).await?;
        self.entry.detached.set(true);
        Ok(detached)
    }
}

/// The future of [`Duplex::recv`].
#[derive(Debug)]
#[must_use = "nothing is received until it is awaited"]
pub struct Recv<'a, B: Backend>(&'a mut Duplex<B>);

impl<B: Backend> Future for Recv<'_, B> {
    type Output = io::Result<Option<Chunk<LoanOf<B>>>>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_recv(cx)
    }
}

/// The future of [`Duplex::send`] and [`Duplex::flush`].
#[must_use = "nothing is sent until it is awaited"]
pub struct SendAll<'a, B: Backend> {
    duplex: &'a mut Duplex<B>,
    /// What waits until an earlier send has been flushed.
    bytes: Option<SendBuf<LoanOf<B>>>,
}

/// Nothing in it is pinned.
impl<B: Backend> Unpin for SendAll<'_, B> {}

impl<B: Backend> Future for SendAll<'_, B> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.bytes.is_some() {
            ready!(this.duplex.poll_flush(cx))?;
        }
        if let Some(bytes) = this.bytes.take() {
            this.duplex.start_send(bytes);
        }
        this.duplex.poll_flush(cx)
    }
}

impl<B: Backend> fmt::Debug for SendAll<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendAll").field("duplex", &self.duplex).finish_non_exhaustive()
    }
}

impl<B: Backend> fmt::Debug for Duplex<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duplex").field("backend", &B::NAME).finish_non_exhaustive()
    }
}
