//! A connection on compio.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use corepool_core::backend::{Conn, Detached, SendBuf};
use corepool_core::buffer::Buffer;
use corepool_os::{StreamSocket, outcome_of_connect};

use crate::memory::Memory;
use crate::receive::Receiver;
use crate::send::Sender;
use crate::withdraw::Withdrawal;

/// A connection that this thread's ring drives.
///
/// Dropping one that was not closed shuts it down, so that what is in flight ends by itself.
pub struct CompioConn {
    /// `None` when closed or detached. The operations in flight share it, so that its number is not reused
    /// under them.
    socket: Option<Rc<OwnedFd>>,
    memory: Memory,
    receiver: Receiver,
    sender: Sender,
    withdrawal: Withdrawal<OwnedFd>,
}

impl CompioConn {
    fn is_in_flight(&self) -> bool {
        self.receiver.is_in_flight() || self.sender.is_sending() || self.withdrawal.is_in_flight()
    }

    /// Withdraws everything in flight, keeps what it brings, and waits until the kernel holds nothing of it.
    fn poll_withdrawn(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(socket) = &self.socket else { return Poll::Ready(Ok(())) };
        loop {
            let receiving = self.receiver.poll_reaped(cx).is_pending();
            let sending = self.sender.poll_reaped(cx).is_pending();
            if !receiving && !sending {
                return self.withdrawal.poll_answered(cx).map(Ok);
            }
            ready!(self.withdrawal.poll_ask(socket, cx))?;
        }
    }

    /// The descriptor, when nothing is in flight and so nobody shares it.
    fn take_socket(&mut self) -> Option<OwnedFd> {
        let socket = self.socket.take()?;
        Some(Rc::try_unwrap(socket).unwrap_or_else(|_| unreachable!("an operation outlives its reaping")))
    }
}

impl Conn for CompioConn {
    type Loan = Buffer;
    type Socket = StreamSocket;

    fn attach(detached: Detached<StreamSocket>) -> io::Result<Self> {
        Ok(Self {
            memory: Memory::current()?,
            // The ring waits whatever the descriptor's mode.
            socket: Some(Rc::new(detached.socket.into())),
            receiver: Receiver::new(detached.unread),
            sender: Sender::Idle,
            withdrawal: Withdrawal::none(),
        })
    }

    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        ready!(self.sender.poll_connected(socket, cx))?;
        Poll::Ready(outcome_of_connect(socket))
    }

    #[inline]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Buffer>>> {
        match &self.socket {
            Some(socket) => self.receiver.poll(socket, &self.memory, cx),
            None => Poll::Ready(Ok(None)),
        }
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.socket {
            Some(socket) => self.receiver.poll_readable(socket, cx).map(Ok),
            None => Poll::Ready(Ok(())),
        }
    }

    #[inline]
    fn start_send(&mut self, bytes: SendBuf<Buffer>) {
        assert!(!self.is_sending(), "a send begins while another is in flight");
        self.sender = Sender::start(self.socket.as_ref(), bytes);
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sender.poll(self.socket.as_ref(), cx)
    }

    #[inline]
    fn is_sending(&self) -> bool {
        self.sender.is_sending()
    }

    fn unacknowledged(&self) -> usize {
        self.socket
            .as_ref()
            .and_then(|socket| corepool_os::unacknowledged(&**socket).ok())
            .unwrap_or_default()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        corepool_os::reset_on_close(&**self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?)
    }

    #[inline]
    fn buffer(&self) -> Buffer {
        self.memory.pool.take()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let how = match how {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        Ok(rustix::net::shutdown(socket, how)?)
    }

    fn poll_detach(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Detached<StreamSocket>>> {
        ready!(self.poll_flush(cx))?;
        ready!(self.poll_withdrawn(cx))?;
        let unread = self.receiver.take_unread()?;
        let socket = self.take_socket().ok_or(io::ErrorKind::NotConnected)?;
        Poll::Ready(Ok(Detached { socket: socket.into(), unread }))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_in_flight() && self.shutdown(Shutdown::Both).is_err() {
            // It was not connected any more. What is in flight has ended, or can be withdrawn.
            if ready!(self.poll_withdrawn(cx)).is_err() {
                // The request could not be submitted; the next turn may have room for it.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        ready!(self.receiver.poll_reaped(cx));
        ready!(self.sender.poll_reaped(cx));
        ready!(self.withdrawal.poll_answered(cx));
        self.receiver = Receiver::new(Vec::new());
        self.socket = None;
        Poll::Ready(())
    }
}

impl Drop for CompioConn {
    fn drop(&mut self) {
        if self.is_in_flight() {
            // compio asks for the withdrawal of what is dropped, but forgets it when the ring is full.
            let _ = self.shutdown(Shutdown::Both);
        }
    }
}

impl fmt::Debug for CompioConn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompioConn")
            .field("socket", &self.socket)
            .field("receiving", &self.receiver.is_in_flight())
            .field("sending", &self.sender.is_sending())
            .finish_non_exhaustive()
    }
}
