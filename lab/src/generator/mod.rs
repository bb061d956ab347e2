//! The load generator: many connections on each client thread, every byte that
//! comes back compared.
//!
//! [`clients`] has the pinned threads; each has a [`fleet`] of connections per
//! server, that is one epoll set and the loop over it. `lane` says who sends when,
//! in a closed or an open loop; `connection` is one connection; `pattern` is what
//! it sends, `reply` and `http` what must come back; `idle` opens those that do
//! nothing; `sockets` is what they share; `dialer` opens sockets; [`fault`] counts
//! what was lost. [`search`] finds the highest rate that keeps a promise, [`busy`]
//! tells whether the clients were the limit.

pub mod busy;
pub mod clients;
mod connection;
mod dialer;
pub mod fault;
pub mod fleet;
mod http;
mod idle;
mod lane;
mod latencies;
mod pattern;
mod reply;
pub mod search;
mod sockets;

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::accounting::Spent;

pub use busy::Busy;
pub use clients::Clients;
pub use fault::Faults;
pub use fleet::Fleet;
pub use search::{Capacity, Slo};

/// What all client threads together measured in one slice.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Slice {
    /// Requests that got the right reply.
    pub requests: u64,
    /// Requests that were planned and could not be sent before the end of the
    /// slice; they count in the latencies with the time that they had waited.
    pub unsent: u64,
    /// Connections that waited at the end for the first reply of all.
    pub waiting: usize,
    /// Connections that a full server closed instead of serving them; they are no
    /// lost requests, and are tried again in the next slice.
    pub refused: u64,
    /// Sockets of this machine that were in TIME_WAIT at the end.
    pub time_wait: usize,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// CPU time of the client threads.
    pub cpu: Duration,
    /// What else the client threads used.
    pub spent: Spent,
    /// From when each request was due to the end of its reply, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// The same for each endpoint of `work`, in the order of
    /// [`Endpoint::ALL`](crate::workload::mix::Endpoint::ALL); else empty.
    pub by_endpoint: Vec<Histogram<u64>>,
    /// What was lost.
    pub faults: Faults,
}

impl Slice {
    /// Nothing measured yet.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            requests: 0,
            unsent: 0,
            waiting: 0,
            refused: 0,
            time_wait: 0,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            spent: Spent::default(),
            latencies: latencies::histogram(),
            by_endpoint: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// Joins what another thread measured in the same slice.
    pub(crate) fn join(&mut self, other: &Self) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.waiting += other.waiting;
        self.add_counts(other);
    }

    /// Appends another slice.
    pub fn append(&mut self, other: &Self) {
        self.elapsed += other.elapsed;
        self.waiting = self.waiting.max(other.waiting);
        self.time_wait = self.time_wait.max(other.time_wait);
        self.add_counts(other);
    }

    fn add_counts(&mut self, other: &Self) {
        self.requests += other.requests;
        self.unsent += other.unsent;
        self.refused += other.refused;
        self.cpu += other.cpu;
        self.spent.append(&other.spent);
        self.latencies += &other.latencies;
        self.by_endpoint
            .resize_with(self.by_endpoint.len().max(other.by_endpoint.len()), latencies::histogram);
        self.by_endpoint.iter_mut().zip(&other.by_endpoint).for_each(|(sum, more)| *sum += more);
        self.faults.add(&other.faults);
    }
}
