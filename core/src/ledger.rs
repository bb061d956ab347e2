//! The counters of one worker, and the laws that they obey.
//!
//! Each counter has one writer, the worker's own thread, and only grows; what can be derived is derived. So
//! a transition costs plain loads and stores, and every one of them is a method here: nothing else touches a
//! counter.

use std::fmt;

use serde::Serialize;

use crate::sync::{AtomicU64, Ordering};

/// A counter with one writer and many readers.
#[derive(Debug, Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add_one(&self) {
        self.0.store(self.value() + 1, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a started connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Failed,
    Panicked,
    Aborted,
}

/// Why an accepted connection was not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Full,
    MaxConnections,
    Draining,
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct Ledger {
    accepted: Counter,
    accept_errors: Counter,
    refused_full: Counter,
    refused_max_connections: Counter,
    refused_draining: Counter,
    local: Counter,
    over_limit: Counter,
    /// To each worker, by index.
    handed_to: Box<[Counter]>,
    received: Counter,
    attach_failed: Counter,
    started: Counter,
    completed: Counter,
    failed: Counter,
    panicked: Counter,
    aborted: Counter,
}

impl Ledger {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            accepted: Counter::default(),
            accept_errors: Counter::default(),
            refused_full: Counter::default(),
            refused_max_connections: Counter::default(),
            refused_draining: Counter::default(),
            local: Counter::default(),
            over_limit: Counter::default(),
            handed_to: (0..workers).map(|_| Counter::default()).collect(),
            received: Counter::default(),
            attach_failed: Counter::default(),
            started: Counter::default(),
            completed: Counter::default(),
            failed: Counter::default(),
            panicked: Counter::default(),
            aborted: Counter::default(),
        }
    }

    /// An accept call returned an error. That is not a connection, and outside of the laws.
    pub(crate) fn accept_failed(&self) {
        self.accept_errors.add_one();
    }

    pub(crate) fn accepted_and_refused(&self, refusal: Refusal) {
        self.accepted.add_one();
        match refusal {
            Refusal::Full => self.refused_full.add_one(),
            Refusal::MaxConnections => self.refused_max_connections.add_one(),
            Refusal::Draining => self.refused_draining.add_one(),
        }
    }

    pub(crate) fn accepted_here(&self) {
        self.accepted.add_one();
        self.local.add_one();
    }

    pub(crate) fn accepted_over_limit(&self) {
        self.accepted.add_one();
        self.over_limit.add_one();
    }

    /// From here on the connection is in transit to `worker`.
    pub(crate) fn accepted_and_handed_to(&self, worker: usize) {
        self.accepted.add_one();
        self.handed_to[worker].add_one();
    }

    /// A connection in transit to this worker has arrived.
    pub(crate) fn received(&self) {
        self.received.add_one();
    }

    pub(crate) fn attach_failed(&self) {
        self.attach_failed.add_one();
    }

    pub(crate) fn started(&self) {
        self.started.add_one();
    }

    pub(crate) fn ended(&self, end: End) {
        match end {
            End::Completed => self.completed.add_one(),
            End::Failed => self.failed.add_one(),
            End::Panicked => self.panicked.add_one(),
            End::Aborted => self.aborted.add_one(),
        }
    }

    pub(crate) fn snapshot(&self) -> Counts {
        Counts {
            accepted: self.accepted.value(),
            accept_errors: self.accept_errors.value(),
            refused_full: self.refused_full.value(),
            refused_max_connections: self.refused_max_connections.value(),
            refused_draining: self.refused_draining.value(),
            local: self.local.value(),
            over_limit: self.over_limit.value(),
            handed_to: self.handed_to.iter().map(Counter::value).collect(),
            received: self.received.value(),
            attach_failed: self.attach_failed.value(),
            started: self.started.value(),
            completed: self.completed.value(),
            failed: self.failed.value(),
            panicked: self.panicked.value(),
            aborted: self.aborted.value(),
        }
    }
}

/// The counters of one worker at one moment. All of them only grow; the unit is connections.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Accepted from a listener of this worker.
    pub accepted: u64,
    /// Accept calls that failed: not connections.
    pub accept_errors: u64,
    /// Refused because no worker had room.
    pub refused_full: u64,
    /// Refused because this worker had as many sockets open as it may.
    pub refused_max_connections: u64,
    /// Refused because the server was shutting down.
    pub refused_draining: u64,
    /// Served where they were accepted.
    pub local: u64,
    /// Served where they were accepted, over the limit.
    pub over_limit: u64,
    /// Handed to each worker, by its index.
    pub handed_to: Vec<u64>,
    /// Received from other workers.
    pub received: u64,
    /// The runtime could not take the socket.
    pub attach_failed: u64,
    /// A handler was started.
    pub started: u64,
    /// The handler returned `Ok`.
    pub completed: u64,
    /// The handler returned an error.
    pub failed: u64,
    /// The handler panicked.
    pub panicked: u64,
    /// The handler was dropped before its end.
    pub aborted: u64,
}

impl Counts {
    /// Accepted connections that were not served.
    pub fn refused(&self) -> u64 {
        self.refused_full + self.refused_max_connections + self.refused_draining
    }

    /// Handed to other workers, in all.
    pub fn handed_off(&self) -> u64 {
        self.handed_to.iter().sum()
    }

    /// Started and over.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.panicked + self.aborted
    }
}

/// A law of the counters that does not hold: a bug of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LawBroken(String);

impl fmt::Display for LawBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LawBroken {}

/// One worker's part in the laws: its counters, and its gauges as counted by their owners.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Books<'a> {
    pub(crate) counts: &'a Counts,
    pub(crate) active: u64,
    pub(crate) taken: u64,
}

/// Checks the laws over all workers while nothing moves.
pub(crate) fn check(books: &[Books<'_>]) -> Result<(), LawBroken> {
    for (worker, own) in books.iter().enumerate() {
        let counts = own.counts;
        let sent_here: u64 = books.iter().map(|other| other.counts.handed_to[worker]).sum();
        let in_transit = sent_here.checked_sub(counts.received);
        let law = |name: &str, left: Option<u64>, right: u64| match left {
            Some(left) if left == right => Ok(()),
            _ => Err(LawBroken(format!("{name} of worker {worker}: {left:?} is not {right}; {own:?}"))),
        };
        // L1 and L2, per accepting worker: every accepted connection was refused or has one route.
        let routed = counts.local + counts.handed_off() + counts.over_limit;
        law("L1 (accepted)", Some(counts.refused() + routed), counts.accepted)?;
        // L3, per serving worker: whoever has arrived was started or could not be attached.
        let arrived = counts.local + counts.over_limit + counts.received;
        law("L3 (routes)", Some(counts.attach_failed + counts.started), arrived)?;
        law("L4 (started)", Some(own.active + counts.ended()), counts.started)?;
        // L5 and L6: what was sent has been received or is in transit, and each holds a permit.
        law("L6 (permits)", in_transit.map(|moving| moving + own.active), own.taken)?;
    }
    Ok(())
}
