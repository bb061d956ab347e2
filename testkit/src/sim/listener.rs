//! A listener of the simulated backend.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use corepool_core::backend::{Listener, Socket};

use super::link::SimulatedSocket;
use super::network::AcceptQueue;
use super::world::World;

/// A listening socket in memory.
#[derive(Debug)]
pub struct SimulatedBound(pub(super) Arc<AcceptQueue>);

/// A listener in a simulated world.
#[derive(Debug)]
pub struct SimulatedListener {
    /// `None` when closed.
    queue: Option<Arc<AcceptQueue>>,
}

impl Listener for SimulatedListener {
    type Bound = SimulatedBound;
    type Socket = SimulatedSocket;

    fn attach(bound: SimulatedBound) -> io::Result<Self> {
        Ok(Self { queue: Some(bound.0) })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let queue = self.queue.as_ref().ok_or(ErrorKind::NotConnected)?;
        if World::one_in(8) {
            return Poll::Ready(Ok(())); // readiness is a hint
        }
        queue.poll_ready(cx).map(Ok)
    }

    fn try_accept(&mut self) -> io::Result<Option<(SimulatedSocket, SocketAddr)>> {
        let queue = self.queue.as_ref().ok_or(ErrorKind::NotConnected)?;
        if World::lacks_descriptors() {
            return Err(ErrorKind::OutOfMemory.into());
        }
        let Some(socket) = queue.pop() else { return Ok(None) };
        let peer = socket.peer_addr()?.as_ip().ok_or(ErrorKind::InvalidData)?;
        Ok(Some((socket, peer)))
    }

    fn shed(&mut self) -> io::Result<Option<SocketAddr>> {
        Ok(self.try_accept()?.map(|(socket, peer)| {
            socket.reset();
            peer
        }))
    }

    fn refuse_new(&mut self) -> io::Result<()> {
        let queue = self.queue.as_ref().ok_or(ErrorKind::NotConnected)?;
        if !World::filters() {
            return Err(ErrorKind::Unsupported.into());
        }
        queue.refuse_new();
        Ok(())
    }

    /// There are none: a connection in this world is queued at once.
    fn half_open(&mut self) -> io::Result<usize> {
        Ok(0)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.queue.is_some() && World::hesitates(cx) {
            return Poll::Pending;
        }
        self.queue = None;
        Poll::Ready(())
    }
}
