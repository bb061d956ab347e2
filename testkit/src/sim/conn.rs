//! A connection of the simulated backend.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use corepool_core::backend::{Conn, Detached, SendBuf};
use corepool_core::buffer::{Buffer, BufferPool};

use super::client::pause;
use super::clock::Sleep;
use super::link::SimulatedSocket;
use super::world::World;

/// A connection in a simulated world. Like one on `io_uring` it holds a buffer while it waits to receive, and
/// may need a turn to withdraw.
#[derive(Debug)]
pub struct SimulatedConn {
    /// `None` when closed or detached.
    socket: Option<SimulatedSocket>,
    pool: BufferPool,
    /// Bytes that a former owner, or a receive that was withdrawn, has received.
    unread: Option<Buffer>,
    /// The buffer of the receive in flight.
    receiving: Option<Buffer>,
    sending: Option<Sending>,
    at_end: bool,
    /// Runs while the queue that it wants to get into is full.
    knock_again: Option<Sleep>,
}

#[derive(Debug)]
struct Sending {
    bytes: SendBuf<Buffer>,
    sent: usize,
}

impl Conn for SimulatedConn {
    type Loan = Buffer;
    type Socket = SimulatedSocket;

    fn attach(detached: Detached<SimulatedSocket>) -> io::Result<Self> {
        Ok(Self {
            socket: Some(detached.socket),
            pool: World::with(|world| world.pool.clone()),
            unread: Some(detached.unread).filter(|bytes| !bytes.is_empty()).map(Buffer::from),
            receiving: None,
            sending: None,
            at_end: false,
            knock_again: None,
        })
    }

    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        if World::hesitates(cx) {
            return Poll::Pending;
        }
        loop {
            if let Some(timer) = &mut self.knock_again {
                ready!(Pin::new(timer).poll(cx));
                self.knock_again = None;
            }
            if socket.knock()? {
                return Poll::Ready(Ok(()));
            }
            self.knock_again = Some(World::with(|world| world.clock.sleep(pause())));
        }
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Buffer>>> {
        if let Some(bytes) = self.unread.take() {
            return Poll::Ready(Ok(Some(bytes)));
        }
        let Some(socket) = self.socket.as_ref().filter(|_| !self.at_end) else {
            return Poll::Ready(Ok(None));
        };
        let mut buffer = self.receiving.take().unwrap_or_else(|| self.pool.take());
        let Poll::Ready(received) = socket.poll_read(cx, buffer.spare_mut()) else {
            self.receiving = Some(buffer);
            return Poll::Pending;
        };
        self.at_end = matches!(received, Err(_) | Ok(0));
        let count = received?;
        buffer.advance(count);
        Poll::Ready(Ok(Some(buffer).filter(|_| count > 0)))
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_withdraw(cx));
        match &self.socket {
            Some(socket) if !self.at_end && self.unread.is_none() => socket.poll_readable(cx).map(Ok),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn start_send(&mut self, bytes: SendBuf<Buffer>) {
        assert!(self.sending.is_none(), "a send begins while another is in flight");
        self.sending = Some(Sending { bytes, sent: 0 });
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let result = match &self.socket {
            Some(socket) => ready!(sending.poll(socket, cx)),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        self.sending = None;
        Poll::Ready(result)
    }

    fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    fn unacknowledged(&self) -> usize {
        let queued = self.socket.as_ref().map(SimulatedSocket::unread_by_peer).unwrap_or_default();
        queued
            + self
                .sending
                .as_ref()
                .map(|sending| sending.bytes.as_ref().len() - sending.sent)
                .unwrap_or_default()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        socket.reset_on_close();
        Ok(())
    }

    fn buffer(&self) -> Buffer {
        self.pool.take()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        socket.shutdown(how)
    }

    fn poll_detach(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Detached<SimulatedSocket>>> {
        ready!(self.poll_flush(cx))?;
        ready!(self.poll_withdraw(cx));
        let socket = self.socket.take().ok_or(io::ErrorKind::NotConnected)?;
        let unread = self.unread.take().map(|bytes| bytes.to_vec()).unwrap_or_default();
        Poll::Ready(Ok(Detached { socket, unread }))
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.socket.is_some() && World::hesitates(cx) {
            return Poll::Pending;
        }
        self.socket = None;
        self.knock_again = None;
        self.unread = None;
        self.receiving = None;
        self.sending = None;
        Poll::Ready(())
    }
}

impl SimulatedConn {
    /// Withdraws the receive in flight, and keeps what it has brought.
    fn poll_withdraw(&mut self, cx: &Context<'_>) -> Poll<()> {
        let (Some(socket), Some(buffer)) = (&self.socket, &mut self.receiving) else {
            return Poll::Ready(());
        };
        if World::hesitates(cx) {
            return Poll::Pending;
        }
        buffer.extend_from_slice(&socket.take_some());
        self.unread = self.receiving.take().filter(|buffer| !buffer.is_empty());
        Poll::Ready(())
    }
}

impl Sending {
    fn poll(&mut self, socket: &SimulatedSocket, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let bytes = self.bytes.as_ref();
        while self.sent < bytes.len() {
            self.sent += ready!(socket.poll_write(cx, &bytes[self.sent..]))?;
        }
        Poll::Ready(Ok(()))
    }
}
