//! A connection that we have opened, to somebody else's server.

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use crate::address::Address;
use crate::backend::{Backend, Conn};
use crate::close;
use crate::closing;
use crate::duplex::Duplex;
use crate::entry::Entry;
use crate::handler::WorkerInfo;
use crate::stream::Stream;

/// How long [`Outbound::close`] waits for a peer that does not take what was sent, or does not stop sending.
const LINGER: Duration = Duration::from_secs(1);

/// An open connection that [`Connector`](crate::Connector) has made. It receives and sends as a [`Duplex`] does.
///
/// It stays on its core, and belongs to whoever holds it: it counts as no client, takes no permit, and holds up no
/// shutdown. Dropping it closes it at once, and leaves nothing behind in the runtime; what was not flushed is lost then,
/// and [`close`](Self::close) is for a polite end.
pub struct Outbound<B: Backend> {
    duplex: Duplex<B>,
    to: Address,
}

impl<B: Backend> Outbound<B> {
    pub(crate) fn new(io: B::Conn, to: Address) -> Self {
        Self { duplex: Duplex::new(Rc::new(Entry::new(io, false))), to }
    }

    pub(crate) fn poll_connected(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.duplex.entry.io.borrow_mut().poll_connected(cx)
    }

    /// The address that was connected to.
    pub fn address(&self) -> &Address {
        &self.to
    }

    /// Lets a worker look after this connection, as it does after those of its clients: idle for a second, it gives its
    /// receive buffer back. For those that are open for long and mostly quiet.
    #[must_use]
    pub fn tended_by(self, worker: &WorkerInfo) -> Self {
        let entry: Weak<Entry<B>> = Rc::downgrade(&self.duplex.entry);
        worker.upkeep.add(entry);
        self
    }

    /// Says that everything that was asked for has been answered, and that the connection can be used for something
    /// else: by the next user of its pool. Every send takes that back.
    pub fn settle(&mut self) {
        self.duplex.entry.unsettled.set(false);
    }

    /// Whether nothing was sent since [`settle`](Self::settle), or at all.
    pub fn is_settled(&self) -> bool {
        !self.duplex.entry.unsettled.get()
    }

    /// Whether the connection is open as far as this core knows, with nothing to receive and nothing being sent. If
    /// there is something to receive it is lost.
    ///
    /// No system call is made where the runtime knows. On the rings a receive begins, which the next one finds under way;
    /// so what the peer does while the connection is idle is known when it is asked about the next time.
    pub(crate) fn is_quiet(&self) -> bool {
        self.duplex.entry.is_quiet()
    }

    /// This connection as `futures_io` streams.
    pub fn into_stream(self) -> Stream<B, Self> {
        self.into()
    }

    /// Finishes sending, tells the peer, takes off what it still sends for a while, and closes. It takes a second at
    /// the most.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection at once.
    pub async fn close(self) {
        close::close(&*self.duplex.entry, LINGER).await;
    }
}

/// Waits until every [`Outbound`] that was dropped on this thread is closed.
///
/// A worker does that before it leaves. Who drives a runtime without a server does it before the end of
/// [`Backend::run`], because some runtimes leak what is in flight when they end.
pub async fn all_closed() {
    closing::finished().await;
}

impl<B: Backend> Drop for Outbound<B> {
    fn drop(&mut self) {
        let entry = Rc::clone(&self.duplex.entry);
        closing::close::<B>(move |cx| entry.io.borrow_mut().poll_close(cx));
    }
}

impl<B: Backend> Deref for Outbound<B> {
    type Target = Duplex<B>;

    #[inline]
    fn deref(&self) -> &Duplex<B> {
        &self.duplex
    }
}

impl<B: Backend> DerefMut for Outbound<B> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Duplex<B> {
        &mut self.duplex
    }
}

impl<B: Backend> fmt::Debug for Outbound<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("backend", &B::NAME).field("to", &self.to).finish_non_exhaustive()
    }
}
