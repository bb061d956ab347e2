//! The load generator: many connections on each client thread, a request in
//! flight on each of them, every byte that comes back compared.
//!
//! [`clients`] has the pinned threads; each has a [`fleet`] of connections per
//! server, that is one epoll set and the loop over it; `connection` is one
//! exchange at a time; `pattern` is what requests look like; `dialer` opens
//! sockets; [`fault`] counts what was lost.
//!
//! The load is a closed loop: a connection sends its next request when it has
//! the reply to the last one.

pub mod clients;
mod connection;
mod dialer;
pub mod fault;
pub mod fleet;
mod pattern;

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::accounting::Spent;

pub use clients::Clients;
pub use fault::Faults;
pub use fleet::Fleet;

/// What all client threads together measured in one slice.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Slice {
    /// Requests that got the right reply.
    pub requests: u64,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// CPU time of the client threads.
    pub cpu: Duration,
    /// What else the client threads used.
    pub spent: Spent,
    /// From when each request was due to the end of its reply, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// What was lost.
    pub faults: Faults,
}

impl Slice {
    /// Nothing measured yet.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            requests: 0,
            elapsed: Duration::ZERO,
            cpu: Duration::ZERO,
            spent: Spent::default(),
            latencies: latencies(),
            faults: Faults::default(),
        }
    }

    /// Joins what another thread measured in the same slice.
    pub(crate) fn join(&mut self, other: &Self) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.add_counts(other);
    }

    /// Appends another slice.
    pub fn append(&mut self, other: &Self) {
        self.elapsed += other.elapsed;
        self.add_counts(other);
    }

    fn add_counts(&mut self, other: &Self) {
        self.requests += other.requests;
        self.cpu += other.cpu;
        self.spent.append(&other.spent);
        self.latencies += &other.latencies;
        self.faults.add(&other.faults);
    }
}

/// A histogram for latencies in nanoseconds up to a minute, with three digits.
fn latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_MAX_NS, 3).expect("valid bounds")
}

const LATENCY_MAX_NS: u64 = 60_000_000_000;
