//! What every worker can see of all workers: gates, counters and gauges. What they send each other is in `mail`.

use std::sync::{Arc, mpsc};

use crossbeam_utils::CachePadded;

use crate::admission::Gates;
use crate::clients::Clients;
use crate::config::Scope;
use crate::ledger::{Counts, End, Ledger, Waited};
use crate::settings::Settings;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::times::Times;

/// What a worker is told from outside. Commands have a lane of their own, so that they never wait behind
/// connections.
#[derive(Debug, Clone)]
pub(crate) enum Command {
    /// Accept nothing more, end what is idle, and leave when all is done, within the grace period.
    Drain,
    /// End every connection at once, and leave.
    Abort,
    /// Look over the connections.
    Sweep,
    /// Answer when everything that came before has been done.
    Report(mpsc::Sender<()>),
}

/// What every worker can see of all workers.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) settings: Settings,
    /// The permits of connections. Under `Scope::Request` every open socket has one, and the limit is
    /// `max_connections`.
    pub(crate) gates: Gates,
    /// The connections of each client, if they are bounded.
    pub(crate) clients: Option<Arc<Clients>>,
    /// How many workers have found nothing more to accept, since they were told to drain.
    pub(crate) quiet: AtomicUsize,
    /// New handshakes could not be kept out while the listeners closed.
    pub(crate) unfiltered: AtomicBool,
    posts: Box<[CachePadded<Post>]>,
}

/// What one worker writes and others read.
#[derive(Debug)]
struct Post {
    ledger: Ledger,
    times: Times,
    /// Open connections, as their owner counts them.
    active: AtomicU64,
    /// What it looks after besides.
    tended: AtomicU64,
    /// Connections that it accepted and that wait; written under the lock of their line.
    waiting: AtomicU64,
    /// Permits of requests that are taken, the requests that wait, and the limit of the permits.
    requests_taken: AtomicU64,
    requests_waiting: AtomicU64,
    limit: AtomicU64,
}

impl Post {
    fn new(workers: usize, limit: u32) -> Self {
        let gauge = || AtomicU64::new(0);
        Self {
            ledger: Ledger::new(workers),
            times: Times::new(),
            active: gauge(),
            tended: gauge(),
            waiting: gauge(),
            requests_taken: gauge(),
            requests_waiting: gauge(),
            limit: AtomicU64::new(limit.into()),
        }
    }
}

impl Board {
    pub(crate) fn new(settings: Settings) -> Self {
        let workers = settings.workers();
        let gate_limit = match settings.scope {
            Scope::Connection => settings.limit,
            Scope::Request => settings.max_connections,
        };
        Self {
            gates: Gates::new(workers, gate_limit),
            clients: settings.per_client.map(Clients::new),
            quiet: AtomicUsize::new(0),
            unfiltered: AtomicBool::new(false),
            posts: (0..workers).map(|_| CachePadded::new(Post::new(workers, settings.limit))).collect(),
            settings,
        }
    }

    pub(crate) fn ledger(&self, worker: usize) -> &Ledger {
        &self.posts[worker].ledger
    }

    pub(crate) fn times(&self, worker: usize) -> &Times {
        &self.posts[worker].times
    }

    pub(crate) fn counts(&self, worker: usize) -> Counts {
        self.ledger(worker).snapshot()
    }

    pub(crate) fn set_active(&self, worker: usize, count: usize) {
        self.posts[worker].active.store(count as u64, Ordering::Relaxed);
    }

    /// A worker has died with its runtime, after it was buried: its connections have been aborted, and the permits that
    /// they did not give back are written off.
    pub(crate) fn write_off(&self, worker: usize) {
        let (ledger, gate) = (self.ledger(worker), self.gates.gate(worker));
        (0..self.active(worker)).for_each(|_| ledger.ended(End::Aborted));
        self.set_active(worker, 0);
        (0..self.requests(worker).0).for_each(|_| ledger.request_ended());
        (0..self.requests(worker).1).for_each(|_| ledger.waited(Waited::Gone));
        self.set_requests(worker, 0, 0);
        (0..gate.taken()).for_each(|_| gate.give_back());
        // Whoever drains waits for all workers to have nothing left to accept: this one has not.
        self.quiet.fetch_add(1, Ordering::Relaxed);
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

    /// Under the lock of the line.
    pub(crate) fn add_waiting(&self, home: usize) {
        self.posts[home].waiting.store(self.waiting(home) + 1, Ordering::Relaxed);
    }

    /// Under the lock of the line.
    pub(crate) fn remove_waiting(&self, home: usize) {
        self.posts[home].waiting.store(self.waiting(home) - 1, Ordering::Relaxed);
    }

    pub(crate) fn waiting(&self, home: usize) -> u64 {
        self.posts[home].waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn set_requests(&self, worker: usize, taken: u32, waiting: usize) {
        self.posts[worker].requests_taken.store(taken.into(), Ordering::Relaxed);
        self.posts[worker].requests_waiting.store(waiting as u64, Ordering::Relaxed);
    }

    /// Permits of requests that are taken, and requests that wait.
    pub(crate) fn requests(&self, worker: usize) -> (u64, u64) {
        let post = &self.posts[worker];
        (post.requests_taken.load(Ordering::Relaxed), post.requests_waiting.load(Ordering::Relaxed))
    }

    pub(crate) fn set_limit(&self, worker: usize, limit: u32) {
        self.posts[worker].limit.store(limit.into(), Ordering::Relaxed);
    }

    /// The limit that is in force, of connections or requests.
    pub(crate) fn limit(&self, worker: usize) -> u64 {
        self.posts[worker].limit.load(Ordering::Relaxed)
    }
}
