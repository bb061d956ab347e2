//! What the tasks of one worker share, on its thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::admission::Requests;
use crate::backend::Backend;
use crate::clients::Counted;
use crate::config::Scope;
use crate::connection::Route;
use crate::entry::{Cut, Entry};
use crate::ledger::{Asked, End, Ledger, Waited};
use crate::mail::{Envelope, PostOffice};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::shared::Board;
use crate::times::Times;

/// A connection that has come to the worker that will serve it.
pub(crate) struct Arrival<S> {
    pub(crate) envelope: Envelope<S>,
    pub(crate) route: Route,
}

/// One worker's side of the server.
pub(crate) struct Local<B: Backend> {
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) office: Arc<PostOffice<B::Socket>>,
    pub(crate) random: RefCell<Rng>,
    /// The permits of requests.
    pub(crate) requests: Requests,
    /// Every open connection: those that are served, and those that are being refused.
    registry: Registry<B>,
    served: Cell<usize>,
    /// What is done to a connection when it is opened: nothing, unless the worker winds down.
    pub(crate) greeting: Cell<Greeting>,
}

/// What a worker does to a connection that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Nothing.
    Welcome,
    /// Its input shall end: the server drains.
    Kick,
    /// It shall end: the server aborts.
    Abort,
}

impl<B: Backend> Local<B> {
    pub(crate) fn new(index: usize, board: Arc<Board>, office: Arc<PostOffice<B::Socket>>) -> Self {
        let seed = board.settings.seed.wrapping_add(index as u64);
        Self {
            index,
            office,
            requests: Requests::new(board.settings.limit),
            board,
            random: RefCell::new(Rng::with_seed(seed)),
            registry: Registry::new(),
            served: Cell::new(0),
            greeting: Cell::new(Greeting::Welcome),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.board.settings
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.board.ledger(self.index)
    }

    pub(crate) fn times(&self) -> &Times {
        self.board.times(self.index)
    }

    pub(crate) fn registry(&self) -> &Registry<B> {
        &self.registry
    }

    /// How many sockets this worker holds, or has promised to hold: served, on their way, and waiting.
    pub(crate) fn sockets(&self) -> u64 {
        u64::from(self.board.gates.gate(self.index).taken()) + self.board.waiting(self.index)
    }

    /// How many connections are being refused.
    pub(crate) fn refusing(&self) -> usize {
        self.registry.len() - self.served.get()
    }

    /// Opens a connection's entry: it counts as active.
    pub(crate) fn open(&self, entry: Rc<Entry<B>>) {
        match self.greeting.get() {
            Greeting::Welcome => {}
            Greeting::Kick => entry.kick(),
            Greeting::Abort => entry.cut(Cut::Aborted),
        }
        self.registry.insert(entry);
        self.ledger().started();
        self.count_served(self.served.get() + 1);
    }

    /// Removes a connection's entry, which has ended.
    pub(crate) fn close(&self, entry: &Entry<B>, end: End) {
        self.ledger().ended(end);
        self.count_served(self.served.get() - 1);
        if self.settings().scope == Scope::Connection {
            self.times().served(B::now().duration_since(entry.opened));
        }
        if let Some(replied) = entry.replied() {
            self.times().replied(replied.duration_since(entry.opened));
        }
        self.registry.remove(entry);
    }

    fn count_served(&self, count: usize) {
        self.served.set(count);
        self.board.set_active(self.index, count);
    }

    /// Sets the limit of what permits are for.
    pub(crate) fn set_limit(&self, limit: u32) {
        match self.settings().scope {
            Scope::Connection => self.office.set_limit(self.index, limit),
            Scope::Request => self.requests.set_limit(limit),
        }
        self.board.set_limit(self.index, limit);
        self.publish_requests();
    }
}

/// The moves of requests.
impl<B: Backend> Local<B> {
    pub(crate) fn asked(&self, asked: Asked) {
        self.ledger().asked(asked);
        self.publish_requests();
    }

    pub(crate) fn waited(&self, waited: Waited) {
        self.ledger().waited(waited);
        self.publish_requests();
    }

    /// A request has ended, and gives its permit back.
    pub(crate) fn end_request(&self, took: Duration) {
        self.requests.release();
        self.ledger().request_ended();
        self.publish_requests();
        self.times().served(took);
    }

    fn publish_requests(&self) {
        self.board.set_requests(self.index, self.requests.taken(), self.requests.waiting());
    }
}

/// One unit of this worker's limit, given back on drop; and the client's part, if clients are counted.
pub(crate) struct Permit<B: Backend> {
    local: Rc<Local<B>>,
    _client: Option<Counted>,
}

impl<B: Backend> Permit<B> {
    /// The permit that has already been taken of this worker's gate, by whoever accepted the connection.
    pub(crate) fn adopt(local: &Rc<Local<B>>, client: Option<Counted>) -> Self {
        Self { local: Rc::clone(local), _client: client }
    }

    /// The worker whose permit it is.
    pub(crate) fn local(&self) -> &Rc<Local<B>> {
        &self.local
    }
}

impl<B: Backend> Drop for Permit<B> {
    fn drop(&mut self) {
        self.local.office.release(self.local.index);
    }
}
