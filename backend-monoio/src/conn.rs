//! A connection on monoio: what it does with what its two directions bring.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use corepool_core::backend::{Conn, Detached, SendBuf};
use corepool_core::buffer::Buffer;
use corepool_os::{StreamSocket, outcome_of_connect};
use monoio::io::Splitable;

use crate::handle::{self, Handle};
use crate::memory::Memory;
use crate::receive::{Arrival, Receiver};
use crate::send::Sender;

/// A connection whose receives and sends are operations of this thread's ring.
pub struct MonoioConn {
    /// `None` when closed or detached.
    attached: Option<Attached>,
    memory: Memory,
    /// Bytes that came along from a former owner, or that a withdrawn receive had brought. While there are any,
    /// nothing is received.
    unread: Option<Buffer>,
    /// An error that nobody has been told of.
    failure: Option<io::Error>,
    at_end: bool,
    /// There was something to receive, and it has not been received.
    is_readable: bool,
    /// A send was begun after the connection had been closed or detached.
    lost_send: bool,
}

/// What a connection has in the runtime.
struct Attached {
    receiver: Receiver,
    sender: Sender,
    handle: Handle,
}

impl Conn for MonoioConn {
    type Loan = Buffer;
    type Socket = StreamSocket;

    fn attach(detached: Detached<StreamSocket>) -> io::Result<Self> {
        let memory = Memory::current()?;
        // In whatever blocking mode: the ring waits either way.
        let (stream, handle) = handle::attach(detached.socket.into())?;
        let (read, write) = stream.into_split();
        Ok(Self {
            attached: Some(Attached { receiver: Receiver::new(read), sender: Sender::new(write), handle }),
            memory,
            unread: Some(detached.unread).filter(|bytes| !bytes.is_empty()).map(Buffer::from),
            failure: None,
            at_end: false,
            is_readable: false,
            lost_send: false,
        })
    }

    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Attached { sender, handle, .. } = self.attached.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if !sender.is_busy() {
            sender.send_nothing();
        }
        ready!(sender.poll(cx))?;
        Poll::Ready(outcome_of_connect(handle))
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Buffer>>> {
        loop {
            if let Some(bytes) = self.unread.take() {
                return Poll::Ready(Ok(Some(bytes)));
            }
            if let Some(error) = self.failure.take() {
                return Poll::Ready(Err(error));
            }
            let Some(attached) = self.attached.as_mut().filter(|_| !self.at_end) else {
                return Poll::Ready(Ok(None));
            };
            let receiver = &mut attached.receiver;
            if !receiver.is_busy() {
                if self.is_readable || self.memory.is_ample() {
                    self.is_readable = false;
                    receiver.receive(self.memory.pool.take());
                } else {
                    receiver.wait();
                }
            }
            match ready!(receiver.poll(cx)) {
                Arrival::Bytes(bytes) => return Poll::Ready(Ok(Some(bytes))),
                other => self.keep(other),
            }
        }
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.is_readable && self.unread.is_none() && !self.at_end {
            let Some(Attached { receiver, .. }) = &mut self.attached else { break };
            if receiver.is_receiving() {
                receiver.withdraw();
            } else if !receiver.is_busy() {
                receiver.wait();
            }
            let arrival = ready!(receiver.poll(cx));
            self.keep(arrival);
        }
        Poll::Ready(Ok(()))
    }

    fn start_send(&mut self, bytes: SendBuf<Buffer>) {
        match &mut self.attached {
            Some(attached) => attached.sender.send(bytes),
            None => self.lost_send = true,
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.attached {
            Some(attached) if attached.sender.is_busy() => attached.sender.poll(cx),
            None if std::mem::take(&mut self.lost_send) => {
                Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    fn is_sending(&self) -> bool {
        self.attached.as_ref().map_or(self.lost_send, |attached| attached.sender.is_busy())
    }

    fn unacknowledged(&self) -> usize {
        let attached = self.attached.as_ref();
        attached
            .and_then(|attached| corepool_os::unacknowledged(attached.handle.as_fd()).ok())
            .unwrap_or_default()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        let attached = self.attached.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        corepool_os::reset_on_close(attached.handle.as_fd())
    }

    fn buffer(&self) -> Buffer {
        self.memory.pool.take()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let attached = self.attached.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        attached.shutdown(how)
    }

    fn poll_detach(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Detached<StreamSocket>>> {
        ready!(self.poll_flush(cx))?;
        while let Some(Attached { receiver, .. }) = self.attached.as_mut().filter(|it| it.receiver.is_busy())
        {
            receiver.withdraw();
            let arrival = ready!(receiver.poll(cx));
            self.keep(arrival);
        }
        if let Some(error) = self.failure.take() {
            return Poll::Ready(Err(error));
        }
        let attached = self.attached.take().ok_or(io::ErrorKind::NotConnected)?;
        let unread = self.unread.take().map(|bytes| bytes.to_vec()).unwrap_or_default();
        Poll::Ready(Ok(Detached { socket: attached.into_fd().into(), unread }))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.unread = None;
        self.failure = None;
        self.at_end = true;
        self.lost_send = false;
        if let Some(attached) = &mut self.attached {
            ready!(attached.poll_idle(cx));
        }
        // `close(2)` and not an operation of the ring, so that the descriptor is free and the peer told now.
        // monoio's own way costs two operations and an allocation.
        drop(self.attached.take().map(Attached::into_fd));
        Poll::Ready(())
    }
}

impl MonoioConn {
    /// Keeps what has arrived until it is asked for.
    fn keep(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Bytes(bytes) => self.unread = Some(bytes),
            Arrival::End => self.at_end = true,
            Arrival::Failure(error) => {
                self.failure = Some(error);
                self.at_end = true;
            }
            Arrival::Readiness => self.is_readable = true,
            Arrival::Withdrawn => {}
        }
    }
}

impl Attached {
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let how = match how {
            Shutdown::Read => rustix::net::Shutdown::Read,
            Shutdown::Write => rustix::net::Shutdown::Write,
            Shutdown::Both => rustix::net::Shutdown::Both,
        };
        Ok(rustix::net::shutdown(self.handle.as_fd(), how)?)
    }

    /// Ends what is in flight, and waits for it.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.sender.is_busy() {
            // The only thing that ends a send whose peer does not read. It fails when the socket is not
            // connected any more, and then nothing waits.
            let _ = self.shutdown(Shutdown::Both);
        }
        while self.receiver.is_busy() {
            self.receiver.withdraw();
            let _dropped = ready!(self.receiver.poll(cx));
        }
        if self.sender.is_busy() {
            let _outcome = ready!(self.sender.poll(cx));
        }
        Poll::Ready(())
    }

    /// The socket. Nothing may be in flight.
    fn into_fd(self) -> OwnedFd {
        let (read, write) = (self.receiver.into_half(), self.sender.into_half());
        match read.reunite(write) {
            Ok(stream) => self.handle.detach(stream),
            Err(_two_streams) => unreachable!("both halves are of one stream"),
        }
    }
}

impl fmt::Debug for MonoioConn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MonoioConn")
            .field("handle", &self.attached.as_ref().map(|attached| &attached.handle))
            .field("receiving", &self.attached.as_ref().is_some_and(|attached| attached.receiver.is_busy()))
            .field("sending", &self.is_sending())
            .field("unread", &self.unread)
            .field("failure", &self.failure)
            .field("at_end", &self.at_end)
            .finish_non_exhaustive()
    }
}
