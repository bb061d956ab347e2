//! What the tasks of one worker share, on its thread.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::admission::Gate;
use crate::backend::Backend;
use crate::config::Settings;
use crate::connection::Route;
use crate::entry::{Entry, Registry};
use crate::ledger::{End, Ledger};
use crate::shared::{Board, Mailboxes};

/// A connection that has come to the worker that will serve it.
pub(crate) struct Arrival<S> {
    pub(crate) socket: S,
    pub(crate) peer: SocketAddr,
    pub(crate) route: Route,
}

/// One worker's side of the server.
pub(crate) struct Local<B: Backend> {
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) mailboxes: Arc<Mailboxes<B::Socket>>,
    pub(crate) linger: Duration,
    pub(crate) random: RefCell<Rng>,
    registry: Registry<B>,
}

impl<B: Backend> Local<B> {
    pub(crate) fn new(index: usize, board: Arc<Board>, mailboxes: Arc<Mailboxes<B::Socket>>) -> Self {
        let seed = board.settings.seed.wrapping_add(index as u64);
        Self {
            index,
            mailboxes,
            linger: board.settings.linger,
            board,
            random: RefCell::new(Rng::with_seed(seed)),
            registry: Registry::new(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.board.settings
    }

    pub(crate) fn gate(&self) -> &Gate {
        self.board.gates.gate(self.index)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.board.ledger(self.index)
    }

    pub(crate) fn registry(&self) -> &Registry<B> {
        &self.registry
    }

    /// Opens a connection's entry: it counts as active.
    pub(crate) fn open(&self, entry: Rc<Entry<B>>) {
        self.registry.insert(entry);
        self.ledger().started();
        self.board.set_active(self.index, self.registry.len());
    }

    /// Removes a connection's entry, which has ended.
    pub(crate) fn close(&self, entry: &Entry<B>, end: End) {
        self.ledger().ended(end);
        self.registry.remove(entry);
        self.board.set_active(self.index, self.registry.len());
    }
}

/// One unit of this worker's limit, given back on drop.
pub(crate) struct Permit<B: Backend>(Rc<Local<B>>);

impl<B: Backend> Permit<B> {
    /// The permit that has already been taken of this worker's gate, by whoever accepted the connection.
    pub(crate) fn adopt(local: &Rc<Local<B>>) -> Self {
        Self(Rc::clone(local))
    }
}

impl<B: Backend> Permit<B> {
    /// The worker whose permit it is.
    pub(crate) fn local(&self) -> &Local<B> {
        &self.0
    }
}

impl<B: Backend> Drop for Permit<B> {
    fn drop(&mut self) {
        self.0.gate().release();
    }
}
