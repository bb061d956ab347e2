//! The configuration of a server: what the user says. `settings` checks it as a whole before anything starts.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::admission::limit::{Admission, Fixed};
use crate::clients::PerClient;
use crate::cores::Wish;
use crate::deadlines::Deadlines;
use crate::handoff::Handoff;
use crate::overflow::{Overflow, Queue};
use crate::placement::Placement;

/// What a permit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scope {
    /// A connection, for as long as it lasts. With more persistent clients than permits the others wait for
    /// somebody to leave.
    #[default]
    Connection,
    /// A request, as the handler marks it with [`Connection::request`](crate::Connection::request). All clients
    /// are connected, up to `max_connections`, and take turns.
    Request,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connection => "connection",
            Self::Request => "request",
        })
    }
}

/// A text that names no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no scope: connection and request are")]
pub struct UnknownScope(String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        match text {
            "connection" => Ok(Self::Connection),
            "request" => Ok(Self::Request),
            _ => Err(UnknownScope(text.into())),
        }
    }
}

/// How a server shall be set up. Methods chain; mistakes are reported when it starts.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) listen: Vec<String>,
    pub(crate) wish: Wish,
    pub(crate) scope: Scope,
    pub(crate) admission: Option<Arc<dyn Admission>>,
    pub(crate) max_connections: Option<u32>,
    pub(crate) per_client: Option<PerClient>,
    pub(crate) handoff: Arc<dyn Handoff>,
    pub(crate) overflow: Arc<dyn Overflow>,
    pub(crate) deadlines: Deadlines,
    pub(crate) backlog: u32,
    pub(crate) grace: Duration,
    pub(crate) linger: Duration,
    pub(crate) seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// The defaults: a worker for each core there is, each pinned, no limit but that of descriptors.
    pub fn new() -> Self {
        Self {
            listen: Vec::new(),
            wish: Wish::default(),
            scope: Scope::default(),
            admission: None,
            max_connections: None,
            per_client: None,
            handoff: Arc::new(Placement::default()),
            overflow: Arc::new(Queue::default()),
            deadlines: Deadlines::default(),
            backlog: 1024,
            grace: Duration::from_secs(10),
            linger: Duration::from_secs(2),
            seed: None,
        }
    }

    /// Adds an address to listen on, `host:port`. Port 0 is a free one, the same for all workers. There is no
    /// default: at least one is needed. A wildcard `[::]` leaves IPv4 to `0.0.0.0` if both are given.
    #[must_use]
    pub fn listen(mut self, address: impl ToString) -> Self {
        self.listen.push(address.to_string());
        self
    }

    /// How many workers, 1 to 1024. Default: one for each core of the affinity mask, or as many as a cgroup
    /// quota pays for, rounded down. More workers than cores share cores.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.wish.workers = Some(count);
        self
    }

    /// The core of each worker, by the kernel's numbers. Default: the cores of the affinity mask, in order.
    #[must_use]
    pub fn cores(mut self, cores: impl Into<Vec<usize>>) -> Self {
        self.wish.cores = Some(cores.into());
        self
    }

    /// Whether workers are pinned. Default: yes, unless a cgroup quota gives us only part of the mask's time.
    #[must_use]
    pub fn pin(mut self, pin: bool) -> Self {
        self.wish.pin = Some(pin);
        self
    }

    /// What a permit is for. Default: [`Scope::Connection`].
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// How many connections, or requests, each worker serves at a time: at least 1, and of connections at most
    /// `max_connections`. Default: as many connections as there are descriptors for, with some left for the queue.
    /// When every worker is full, [`overflow`](Self::overflow) decides.
    #[must_use]
    pub fn limit(self, count: u32) -> Self {
        self.admission(Fixed(count))
    }

    /// What sets the limit of each worker, if not [`limit`](Self::limit):
    /// [`Adaptive`](crate::limit::Adaptive), for example.
    #[must_use]
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.admission = Some(Arc::new(admission));
        self
    }

    /// How many sockets each worker holds open at the most, whatever the policies. Default: its share of the
    /// descriptors that this process may open, less some for the server itself.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = Some(connections);
        self
    }

    /// A bound on the connections of each client address. Default: none.
    #[must_use]
    pub fn per_client(mut self, bound: PerClient) -> Self {
        self.per_client = Some(bound);
        self
    }

    /// On which worker a connection is served while there is room. Default: [`Placement::LocalFirst`]. The same
    /// as [`handoff`](Self::handoff).
    #[must_use]
    pub fn placement(self, placement: Placement) -> Self {
        self.handoff(placement)
    }

    /// Who serves a connection, and how those who wait get a permit: a [`Placement`], one of those in
    /// [`handoff`](crate::handoff) for comparison, or your own.
    #[must_use]
    pub fn handoff(mut self, handoff: impl Handoff) -> Self {
        self.handoff = Arc::new(handoff);
        self
    }

    /// What happens when there is room nowhere. Default: [`Queue`].
    #[must_use]
    pub fn overflow(mut self, overflow: impl Overflow) -> Self {
        self.overflow = Arc::new(overflow);
        self
    }

    /// How long connections may take. Default: only a send that makes no progress is cut, after a minute.
    #[must_use]
    pub fn deadlines(mut self, deadlines: Deadlines) -> Self {
        self.deadlines = deadlines;
        self
    }

    /// The length of each worker's accept queue, in connections, 1 to 65535; the kernel caps it at
    /// `net.core.somaxconn`. Default: 1024.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = connections;
        self
    }

    /// How long connections may go on after a shutdown was asked for; the rest is aborted. At most a day.
    /// Default: 10 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long closing waits for a peer that does not take the last bytes, or does not leave. At most a day.
    /// Default: 2 s.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// The seed of every random choice (where a scan for room starts). Default: a random one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}
