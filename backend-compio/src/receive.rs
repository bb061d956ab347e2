//! Receiving: one operation at a time.
//!
//! Usually a receive with a buffer of its own is in flight. After an idle time, and when memory is short, it is a wait
//! for readiness instead, which holds no buffer; then the bytes are taken with `recv(2)`.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use compio::driver::op::{Interest, PollOnce};
use compio::runtime::{Submit, submit};
use corepool_core::buffer::Buffer;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::inbox::{Found, Inbox};
use crate::memory::Memory;
use crate::op::Receive;
use crate::withdraw::is_withdrawn;

/// The receiving half of a connection.
pub(crate) struct Receiver {
    flight: Flight,
    inbox: Rc<Inbox>,
    /// How many receives have to follow each other without an idle time before one gets a buffer in advance.
    cold: u8,
}

/// What is in flight in the kernel.
enum Flight {
    Nothing,
    /// A receive, which delivers to the inbox.
    #[expect(dead_code, reason = "held to be dropped, which withdraws it")]
    Receive(Submit<Receive>),
    /// A receive that was withdrawn, and delivers to the inbox what it found before that.
    Withdrawn,
    /// A wait for the socket to be readable.
    Readiness(Submit<PollOnce<Rc<OwnedFd>>>),
}

/// A connection that was idle is not yet busy when one message comes, and would only have to be withdrawn again.
const COLD: u8 = 2;

impl Receiver {
    /// A receiver that finds first what a former owner of the socket had received.
    pub(crate) fn new(unread: Vec<u8>) -> Self {
        let inbox = Rc::new(Inbox::default());
        if !unread.is_empty() {
            inbox.put(Found::Bytes(Buffer::from(unread)));
        }
        Self { flight: Flight::Nothing, inbox, cold: 0 }
    }

    /// Receives; see `Conn::poll_recv`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        socket: &Rc<OwnedFd>,
        memory: &Memory,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Buffer>>> {
        loop {
            ready!(self.poll_reaped(cx));
            match self.inbox.take() {
                Found::Bytes(buffer) => return Poll::Ready(Ok(Some(buffer))),
                Found::Error(error) => {
                    self.inbox.put(Found::End);
                    return Poll::Ready(Err(error));
                }
                Found::End => {
                    self.inbox.put(Found::End);
                    return Poll::Ready(Ok(None));
                }
                Found::Readable => {
                    self.cold = self.cold.saturating_sub(1);
                    self.inbox.put(receive_now(socket, memory));
                }
                Found::Nothing if self.cold == 0 && memory.is_ample() => self.receive(socket, memory),
                Found::Nothing => self.wait(socket),
            }
        }
    }

    /// Waits until there is something to find, without a buffer; see `Conn::poll_readable`.
    pub(crate) fn poll_readable(&mut self, socket: &Rc<OwnedFd>, cx: &mut Context<'_>) -> Poll<()> {
        self.cold = COLD;
        if let Flight::Receive(_) = self.flight {
            // Dropping the operation makes compio ask the kernel to end it. If it forgets to, because the ring is
            // full, this one keeps its buffer until something arrives.
            self.flight = Flight::Withdrawn;
        }
        loop {
            ready!(self.poll_reaped(cx));
            match self.inbox.take() {
                Found::Nothing => self.wait(socket),
                found => {
                    self.inbox.put(found);
                    return Poll::Ready(());
                }
            }
        }
    }

    /// Waits until nothing is in flight, and keeps what that brought.
    #[inline]
    pub(crate) fn poll_reaped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.flight {
            Flight::Nothing => return Poll::Ready(()),
            Flight::Receive(_) | Flight::Withdrawn => ready!(self.inbox.poll_delivered(cx)),
            Flight::Readiness(wait) => self.inbox.put(match ready!(Pin::new(wait).poll(cx)).0 {
                Ok(_) => Found::Readable,
                Err(error) if is_withdrawn(&error) => Found::Nothing,
                Err(error) => Found::Error(error),
            }),
        }
        self.flight = Flight::Nothing;
        Poll::Ready(())
    }

    /// What was received and not yet asked for, to travel with the socket. The stream ends here.
    ///
    /// # Errors
    /// What receiving had failed with.
    pub(crate) fn take_unread(&self) -> io::Result<Vec<u8>> {
        let found = self.inbox.take();
        self.inbox.put(Found::End);
        match found {
            Found::Bytes(buffer) => Ok(buffer.to_vec()),
            Found::Error(error) => Err(error),
            Found::Nothing | Found::Readable | Found::End => Ok(Vec::new()),
        }
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        !matches!(self.flight, Flight::Nothing)
    }

    #[inline]
    fn receive(&mut self, socket: &Rc<OwnedFd>, memory: &Memory) {
        let mut receive = submit(Receive::new(socket, memory.pool.take(), &self.inbox));
        // The first poll submits it. The others are the inbox's, and so is the waker.
        let _ = Pin::new(&mut receive).poll(&mut Context::from_waker(Waker::noop()));
        self.flight = Flight::Receive(receive);
    }

    fn wait(&mut self, socket: &Rc<OwnedFd>) {
        self.flight = Flight::Readiness(submit(PollOnce::new(Rc::clone(socket), Interest::Readable)));
    }
}

/// Receives without waiting.
fn receive_now(socket: &OwnedFd, memory: &Memory) -> Found {
    let received = memory.pool.receive(|space| match rustix::net::recv(socket, space, RecvFlags::DONTWAIT) {
        Ok((_, count)) => Poll::Ready(Ok(count)),
        Err(Errno::AGAIN | Errno::INTR) => Poll::Pending,
        Err(error) => Poll::Ready(Err(error.into())),
    });
    match received {
        Poll::Ready(Ok(Some(buffer))) => Found::Bytes(buffer),
        Poll::Ready(Ok(None)) => Found::End,
        Poll::Ready(Err(error)) => Found::Error(error),
        Poll::Pending => Found::Nothing,
    }
}
