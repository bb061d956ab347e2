//! A listening socket on compio.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use compio::driver::op::{Interest, PollOnce};
use compio::runtime::{Submit, submit};
use corepool_core::backend::Listener;
use corepool_os::{ListenSocket, StreamSocket};

use crate::memory::Memory;
use crate::withdraw::Withdrawal;

/// A listening socket whose readiness this thread's ring reports.
pub struct CompioListener {
    /// `None` when closed.
    socket: Option<Rc<ListenSocket>>,
    /// The wait in flight; it completes at once while connections are queued.
    wait: Option<Submit<PollOnce<Rc<ListenSocket>>>>,
    withdrawal: Withdrawal<ListenSocket>,
}

impl CompioListener {
    fn socket(&self) -> io::Result<&ListenSocket> {
        Ok(self.socket.as_deref().ok_or(io::ErrorKind::NotConnected)?)
    }
}

impl Listener for CompioListener {
    type Bound = ListenSocket;
    type Socket = StreamSocket;

    fn attach(bound: ListenSocket) -> io::Result<Self> {
        Memory::current()?;
        Ok(Self { socket: Some(Rc::new(bound)), wait: None, withdrawal: Withdrawal::none() })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        let wait =
            self.wait.get_or_insert_with(|| submit(PollOnce::new(Rc::clone(socket), Interest::Readable)));
        let result = ready!(Pin::new(wait).poll(cx)).0;
        self.wait = None;
        Poll::Ready(result.map(|_events| ()))
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
        let Some(socket) = &self.socket else { return Poll::Ready(()) };
        while let Some(wait) = &mut self.wait {
            if Pin::new(wait).poll(cx).is_ready() {
                self.wait = None;
            } else if ready!(self.withdrawal.poll_ask(socket, cx)).is_err() {
                // The request could not be submitted; the next turn may have room for it.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
        ready!(self.withdrawal.poll_answered(cx));
        self.socket = None;
        Poll::Ready(())
    }
}

impl fmt::Debug for CompioListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompioListener")
            .field("socket", &self.socket)
            .field("waiting", &self.wait.is_some())
            .finish_non_exhaustive()
    }
}
