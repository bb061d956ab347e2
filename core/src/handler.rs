//! What a user writes.

use std::io;

use crate::backend::Backend;
use crate::connection::Connection;
use crate::cores::CoreId;
use crate::ledger::Refusal;
use crate::runtime::Runtime;
use crate::upkeep::Upkeep;

/// Serves connections. One value is made on each worker's thread, by the factory given to the server, and
/// serves all connections of that worker: it may hold `Rc`, `RefCell` and other state of its core.
///
/// A handler that is written for every `B: Backend` runs on every runtime.
pub trait Handler<B: Backend>: 'static {
    /// Serves one connection until it is done. The connection is closed afterwards: what was sent is flushed,
    /// the peer is told, and its unread input is taken off, so that a last reply always arrives.
    ///
    /// A panic, in the future or in its drop, costs this connection only (unless the program is built with
    /// `panic = "abort"`).
    ///
    /// # Errors
    /// An error ends the connection, and is counted as `failed`.
    ///
    /// # Cancel safety
    /// The future is dropped when the server aborts; whatever it holds is dropped with it.
    fn serve(&self, connection: Connection<B>) -> impl Future<Output = io::Result<()>>;

    /// Tells a client that it is not served, and why, under [`Reject::Reply`](crate::overflow::Reject::Reply).
    /// The default says nothing. The connection is closed afterwards as it is after [`serve`](Self::serve), so
    /// that a reply always arrives; it has as much time as `linger` allows, and holds no permit.
    ///
    /// # Cancel safety
    /// The future is dropped when the time is up, or the server aborts.
    fn refuse(&self, connection: Connection<B>, refusal: Refusal) -> impl Future<Output = ()> {
        let _ = (connection, refusal);
        async {}
    }
}

/// The worker that a handler is made for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// From 0, without gaps.
    pub index: usize,
    /// How many workers there are.
    pub workers: usize,
    /// The core that the worker's thread is pinned to, if it is.
    pub core: Option<CoreId>,
    /// The driver that really runs underneath: "epoll", "`io_uring`" or "simulated".
    pub driver: &'static str,
    pub(crate) runtime: Runtime,
    pub(crate) upkeep: Upkeep,
}

impl WorkerInfo {
    /// The only worker of a program that has no server and drives a runtime of `B` itself: for pools outside of a server.
    ///
    /// Nobody sweeps here by itself. Call [`Upkeep::sweep`] with [`Backend::now`] a few times a second, and
    /// [`Upkeep::close`] at the end.
    pub fn alone<B: Backend>() -> Self {
        let upkeep = Upkeep::new(0, |_count| {});
        Self { index: 0, workers: 1, core: None, driver: B::NAME, runtime: Runtime::of::<B>(), upkeep }
    }

    /// What the worker looks after besides its connections.
    pub fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }
}
