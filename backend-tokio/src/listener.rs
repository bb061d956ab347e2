//! A listening socket on tokio.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use corepool_core::backend::Listener;
use corepool_os::{ListenSocket, StreamSocket};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A listening socket registered with this thread's epoll.
#[derive(Debug)]
pub struct TokioListener {
    /// `None` when closed.
    socket: Option<AsyncFd<ListenSocket>>,
}

impl TokioListener {
    fn socket(&self) -> io::Result<&ListenSocket> {
        Ok(self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?.get_ref())
    }
}

impl Listener for TokioListener {
    type Bound = ListenSocket;
    type Socket = StreamSocket;

    fn attach(bound: ListenSocket) -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "its successor is unsafe; a ListenSocket owns its descriptor, which never changes"
        )]
        let socket = AsyncFd::with_interest(bound, Interest::READABLE)?;
        Ok(Self { socket: Some(socket) })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        // The readiness is kept until `try_accept` finds the queue empty.
        ready!(socket.poll_read_ready(cx))?.retain_ready();
        Poll::Ready(Ok(()))
    }

    fn try_accept(&mut self) -> io::Result<Option<(StreamSocket, SocketAddr)>> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let accepted = socket.try_io(Interest::READABLE, |listener| {
            listener.accept()?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
        });
        match accepted {
            Ok(connection) => Ok(Some(connection)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
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

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        self.socket = None;
        Poll::Ready(())
    }
}
