//! What the workers of one server share, and nothing more: gates and counters, and the mailboxes.

use std::net::SocketAddr;

use async_channel::{Receiver, Sender};
use crossbeam_utils::CachePadded;

use crate::admission::Gates;
use crate::config::Settings;
use crate::ledger::{Counts, Ledger};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// A connection on its way to the worker that will serve it. A permit of that worker has been taken for it.
#[derive(Debug)]
pub(crate) struct Envelope<S> {
    pub(crate) socket: S,
    pub(crate) peer: SocketAddr,
    pub(crate) from: usize,
}

/// What a worker is told from outside. Commands have a lane of their own, so that they never wait behind
/// connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Accept nothing more, end what is idle, and leave when all is done, within the grace period.
    Drain,
    /// End every connection at once, and leave.
    Abort,
    /// Look over the connections.
    Sweep,
}

/// Where each worker receives connections. Unbounded, yet never longer than the limit: every envelope carries
/// a permit of the receiver.
pub(crate) type Mailboxes<S> = Box<[Sender<Envelope<S>>]>;

/// A mailbox for each worker, and each worker's end of it.
pub(crate) fn mailboxes<S>(workers: usize) -> (Mailboxes<S>, Vec<Receiver<Envelope<S>>>) {
    let (senders, receivers): (Vec<_>, _) = (0..workers).map(|_| async_channel::unbounded()).unzip();
    (senders.into(), receivers)
}

/// What every worker can see of all workers.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) settings: Settings,
    pub(crate) gates: Gates,
    /// Whose turn it is under `Placement::RoundRobin`.
    pub(crate) turn: CachePadded<AtomicUsize>,
    posts: Box<[CachePadded<Post>]>,
}

/// What one worker writes and others read.
#[derive(Debug)]
struct Post {
    ledger: Ledger,
    /// Open connections, as their owner counts them.
    active: AtomicU64,
    /// What it looks after besides.
    tended: AtomicU64,
}

impl Board {
    pub(crate) fn new(settings: Settings) -> Self {
        let workers = settings.workers();
        let post =
            || Post { ledger: Ledger::new(workers), active: AtomicU64::new(0), tended: AtomicU64::new(0) };
        Self {
            gates: Gates::new(workers, settings.limit),
            turn: CachePadded::new(AtomicUsize::new(0)),
            posts: (0..workers).map(|_| CachePadded::new(post())).collect(),
            settings,
        }
    }

    pub(crate) fn ledger(&self, worker: usize) -> &Ledger {
        &self.posts[worker].ledger
    }

    pub(crate) fn set_active(&self, worker: usize, count: usize) {
        self.posts[worker].active.store(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn active(&self, worker: usize) -> u64 {
        self.posts[worker].active.load(Ordering::Relaxed)
    }

    /// Says how much a worker looks after besides its connections.
    pub(crate) fn set_tended(&self, worker: usize, count: usize) {
        self.posts[worker].tended.store(count as u64, Ordering::Relaxed);
    }

    /// Whether a sweep of a worker would find anything to do.
    pub(crate) fn has_work_for_a_sweep(&self, worker: usize) -> bool {
        self.active(worker) > 0 || self.posts[worker].tended.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn counts(&self, worker: usize) -> Counts {
        self.ledger(worker).snapshot()
    }
}
