//! The handler's side of a connection that a client has opened.

use std::fmt;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use std::time::Duration;

use crate::backend::Backend;
use crate::deadlines::Deadlines;
use crate::duplex::Duplex;
use crate::entry::Entry;
use crate::local::Local;
use crate::stream::Stream;

/// How a connection came to the worker that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Route {
    /// It is served where it was accepted.
    Local,
    /// Another worker accepted it and handed it over.
    HandedOff {
        /// The index of the worker that accepted it.
        from: usize,
    },
    /// Every worker was full; it is served over the limit, where it was accepted.
    OverLimit,
    /// It has waited for a permit.
    Queued {
        /// The index of the worker that accepted it.
        from: usize,
        /// How long it has waited.
        waited: Duration,
    },
}

/// An open connection, in the hands of a handler. It receives and sends as a [`Duplex`] does.
///
/// It stays on its core. Dropping it does not close anything; the connection is closed when the handler's
/// future has ended.
pub struct Connection<B: Backend> {
    pub(crate) duplex: Duplex<B>,
    pub(crate) local: Rc<Local<B>>,
    peer: SocketAddr,
    route: Route,
}

impl<B: Backend> Connection<B> {
    pub(crate) fn new(entry: Rc<Entry<B>>, peer: SocketAddr, route: Route, local: Rc<Local<B>>) -> Self {
        Self { duplex: Duplex::new(entry), local, peer, route }
    }

    /// This connection as `futures_io` streams.
    pub fn into_stream(self) -> Stream<B> {
        self.into()
    }

    /// Gives this connection deadlines of its own, from now on.
    pub fn set_deadlines(&mut self, deadlines: Deadlines) {
        *self.duplex.entry.deadlines.borrow_mut() = Some(Box::new(deadlines));
    }

    /// The address of the peer.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// How the connection came to this worker.
    pub fn route(&self) -> Route {
        self.route
    }

    /// The index of the worker that serves it.
    pub fn worker(&self) -> usize {
        self.local.index
    }
}

impl<B: Backend> Deref for Connection<B> {
    type Target = Duplex<B>;

    #[inline]
    fn deref(&self) -> &Duplex<B> {
        &self.duplex
    }
}

impl<B: Backend> DerefMut for Connection<B> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Duplex<B> {
        &mut self.duplex
    }
}

impl<B: Backend> fmt::Debug for Connection<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("backend", &B::NAME)
            .field("peer", &self.peer)
            .field("route", &self.route)
            .field("worker", &self.local.index)
            .finish_non_exhaustive()
    }
}
