//! A listening socket on monoio.
//!
//! The socket itself is never in the ring, so that closing it is `close(2)`, now. It is in an epoll instance
//! of its own, and the ring polls that: an epoll descriptor is readable when something in it is ready. The
//! poll is never withdrawn either, since monoio could not say when the kernel has let go of it: it is ended by
//! putting something into the epoll instance that is ready for ever.
//!
//! monoio's own way, an accept operation, loses connections and descriptors when it is withdrawn, and opens
//! descriptors that child processes inherit.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use corepool_core::backend::Listener;
use corepool_os::{ListenSocket, StreamSocket};
use monoio::net::TcpStream;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};

use crate::handle::{self, Handle};
use crate::lane::Lane;

/// A listening socket whose readiness is polled by this thread's ring.
#[derive(Debug)]
pub struct MonoioListener {
    /// `None` when closed.
    socket: Option<ListenSocket>,
    /// `None` when the ring holds nothing of this listener any more.
    gate: Option<Gate>,
}

impl MonoioListener {
    fn socket(&self) -> io::Result<&ListenSocket> {
        Ok(self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?)
    }
}

impl Listener for MonoioListener {
    type Bound = ListenSocket;
    type Socket = StreamSocket;

    fn attach(bound: ListenSocket) -> io::Result<Self> {
        let gate = Gate::new(&bound)?;
        Ok(Self { socket: Some(bound), gate: Some(gate) })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match (&self.socket, &mut self.gate) {
            (Some(_open), Some(gate)) => gate.poll_open(cx),
            _ => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    fn try_accept(&mut self) -> io::Result<Option<(StreamSocket, SocketAddr)>> {
        self.socket()?.accept()
    }

    fn shed(&mut self) -> io::Result<Option<SocketAddr>> {
        self.socket()?.shed()
    }

    fn refuse_new(&mut self) -> io::Result<()> {
        self.socket()?.refuse_new()
    }

    fn half_open(&mut self) -> io::Result<usize> {
        self.socket()?.half_open()
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket = None;
        if let Some(gate) = &mut self.gate {
            ready!(gate.poll_idle(cx));
        }
        drop(self.gate.take().map(Gate::into_epoll));
        Poll::Ready(())
    }
}

/// Waits until a socket is ready, and can be made to stop.
struct Gate {
    /// Polls the epoll instance.
    lane: Lane<(), io::Result<()>, TcpStream>,
    epoll: Handle,
    /// Ready for ever; outside of the epoll instance until the gate is to be idle.
    bell: OwnedFd,
    is_rung: bool,
}

impl Gate {
    fn new(socket: &ListenSocket) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, socket, EventData::new_u64(0), EventFlags::IN)?;
        let bell = eventfd(1, EventfdFlags::CLOEXEC)?;
        let (stream, epoll) = handle::attach(epoll)?;
        let lane = Lane::new(stream, async |stream: &mut TcpStream, _desk: &_| stream.readable(false).await);
        Ok(Self { lane, epoll, bell, is_rung: false })
    }

    /// Waits until the socket is ready.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.lane.is_busy() {
            self.lane.begin();
        }
        self.lane.poll(cx)
    }

    /// Makes the poll in flight end, and waits for that.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.lane.is_busy() {
            return Poll::Ready(());
        }
        if !self.is_rung {
            // Without memory for it in the kernel this fails, and is tried again at the next poll.
            self.is_rung = epoll::add(&self.epoll, &self.bell, EventData::new_u64(1), EventFlags::IN).is_ok();
        }
        self.lane.poll(cx).map(|_ended| ())
    }

    /// The epoll instance. The gate must be idle.
    fn into_epoll(self) -> OwnedFd {
        self.epoll.detach(self.lane.into_half())
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("epoll", &self.epoll)
            .field("is_rung", &self.is_rung)
            .finish_non_exhaustive()
    }
}
