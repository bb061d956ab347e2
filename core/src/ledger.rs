//! The counters of one worker, and the moves between them.
//!
//! Each counter only grows, and has one writer at a time: the worker's own thread, or, for those of the queue,
//! whoever holds the lock of the line. So a move costs plain loads and stores; and every move is a method
//! here: nothing else touches a counter. What can be derived is derived. The laws are in `laws`.

use serde::Serialize;

use crate::admission::Fate;
use crate::sync::{AtomicU64, Ordering};

/// A counter with one writer at a time and many readers.
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
    TimedOut,
    Panicked,
    Aborted,
}

/// Why a connection, or a request, is not served. A handler that [refuses](crate::Handler::refuse) can say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no permit anywhere, and the policy does not let it wait.
    #[error("the server is full")]
    Full,
    /// It has waited in vain until its deadline.
    #[error("the server was full for too long")]
    Expired,
    /// The client's address has as many connections as it may.
    #[error("too many connections from this address")]
    PerClient,
    /// The worker has as many sockets open as it may.
    #[error("the server has too many open connections")]
    MaxConnections,
    /// The process is out of descriptors.
    #[error("the server is out of descriptors")]
    NoDescriptor,
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Draining,
    /// No worker is left that could serve it.
    #[error("no worker is left")]
    NoWorker,
    /// A policy of the user's panicked while it decided.
    #[error("a policy panicked")]
    Panicked,
}

/// What happened to a request that asked for a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Immediate,
    Enqueued,
    Over,
    Refused,
}

/// How a request's wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Granted,
    GrantedOver,
    Expired,
    Gone,
}

/// Lists the counters, once for the ledger and once for what users see.
macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The counters of one worker.
        #[derive(Debug)]
        pub(crate) struct Ledger {
            $($name: Counter,)+
            handed_to: Box<[Counter]>,
            granted_to: Box<[Counter]>,
        }

        impl Ledger {
            pub(crate) fn new(workers: usize) -> Self {
                let each = || (0..workers).map(|_| Counter::default()).collect();
                Self { $($name: Counter::default(),)+ handed_to: each(), granted_to: each() }
            }

            pub(crate) fn snapshot(&self) -> Counts {
                let each = |counters: &[Counter]| counters.iter().map(Counter::value).collect();
                Counts {
                    $($name: self.$name.value(),)+
                    handed_to: each(&self.handed_to),
                    granted_to: each(&self.granted_to),
                }
            }
        }

        /// The counters of one worker at one moment. All of them only grow; the unit is connections, or requests
        /// where the name says so.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)+
            /// Accepted here and handed at once to each worker, by its index: a row of the handoff matrix.
            pub handed_to: Vec<u64>,
            /// Accepted here, and sent to each worker after it had waited: another row of it.
            pub granted_to: Vec<u64>,
        }
    };
}

counters! {
    /// Accepted from a listener of this worker.
    accepted,
    /// Accept calls that failed: not connections.
    accept_errors,
    /// Refused because no worker had room, and there was none in the queue.
    refused_full,
    /// Refused because their address had as many connections as it may.
    refused_per_client,
    /// Refused because this worker had as many sockets open as it may.
    refused_max_connections,
    /// Accepted only to be closed, because the process was out of descriptors.
    refused_no_descriptor,
    /// Refused because the server was shutting down: as they were accepted, or while they waited.
    refused_draining,
    /// Refused because no worker was left.
    refused_no_worker,
    /// Lost because a policy of the user's panicked over them.
    refused_panicked,
    /// Served where they were accepted.
    local,
    /// Served where they were accepted, over the limit.
    over_limit,
    /// Lined up to wait for a permit.
    enqueued,
    /// Of those that waited, the ones served over the limit after their deadline.
    granted_over,
    /// Waited until their deadline, and were refused.
    expired,
    /// Left while they waited.
    gone,
    /// Of those refused while draining, the ones that had waited.
    drained,
    /// Waited again, because the worker that should have served them died.
    reassigned,
    /// On their way to this worker when it died.
    returned,
    /// Received, from other workers or from the queue.
    received,
    /// How often this worker found something in its mailbox: it was woken for what others sent at most so often.
    batches,
    /// The runtime could not take the socket.
    attach_failed,
    /// A handler was started.
    started,
    /// The handler returned `Ok`.
    completed,
    /// The handler returned an error.
    failed,
    /// Cut at a deadline.
    timed_out,
    /// The handler panicked.
    panicked,
    /// The handler was dropped before its end.
    aborted,
    /// Requests that asked for a permit, under `Scope::Request`.
    requests,
    /// Requests that had one at once.
    requests_immediate,
    /// Requests that waited.
    requests_enqueued,
    /// Requests that were served over the limit at once.
    requests_over,
    /// Requests that were refused at once.
    requests_refused,
    /// Requests that waited, and were granted a permit.
    requests_granted,
    /// Requests that waited until their deadline, and were served over the limit.
    requests_granted_over,
    /// Requests that waited until their deadline, and were refused.
    requests_expired,
    /// Requests that were given up while they waited.
    requests_gone,
    /// Requests that gave their permit back.
    requests_ended,
    /// How often this worker was started again after a panic of its own.
    restarts,
}

impl Ledger {
    /// An accept call returned an error. That is not a connection, and outside of the laws.
    pub(crate) fn accept_failed(&self) {
        self.accept_errors.add_one();
    }

    pub(crate) fn accepted_and_refused(&self, refusal: Refusal) {
        self.accepted.add_one();
        match refusal {
            Refusal::Full | Refusal::Expired => self.refused_full.add_one(),
            Refusal::PerClient => self.refused_per_client.add_one(),
            Refusal::MaxConnections => self.refused_max_connections.add_one(),
            Refusal::NoDescriptor => self.refused_no_descriptor.add_one(),
            Refusal::Draining => self.refused_draining.add_one(),
            Refusal::NoWorker => self.refused_no_worker.add_one(),
            Refusal::Panicked => self.refused_panicked.add_one(),
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

    /// Something was found in the mailbox. It may be a connection, or several, or none.
    pub(crate) fn found_mail(&self) {
        self.batches.add_one();
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
            End::TimedOut => self.timed_out.add_one(),
            End::Panicked => self.panicked.add_one(),
            End::Aborted => self.aborted.add_one(),
        }
    }

    pub(crate) fn restarted(&self) {
        self.restarts.add_one();
    }
}

/// The moves of those who wait, under the lock of the line; each in the ledger of its home.
impl Ledger {
    pub(crate) fn accepted_and_enqueued(&self) {
        self.accepted.add_one();
        self.enqueued.add_one();
    }

    /// From here on the connection is in transit to `worker`.
    pub(crate) fn granted(&self, worker: usize, over: bool) {
        self.granted_to[worker].add_one();
        if over {
            self.granted_over.add_one();
        }
    }

    pub(crate) fn turned_away(&self, fate: Fate) {
        match fate {
            Fate::Expired => self.expired.add_one(),
            Fate::Gone => self.gone.add_one(),
            Fate::NoWorker => self.refused_no_worker.add_one(),
            Fate::Draining => {
                self.refused_draining.add_one();
                self.drained.add_one();
            }
        }
    }

    /// A connection of this home waits again.
    pub(crate) fn reassigned(&self) {
        self.reassigned.add_one();
    }

    /// A connection in transit to this worker was taken back.
    pub(crate) fn returned(&self) {
        self.returned.add_one();
    }
}

/// The moves of requests.
impl Ledger {
    pub(crate) fn asked(&self, asked: Asked) {
        self.requests.add_one();
        match asked {
            Asked::Immediate => self.requests_immediate.add_one(),
            Asked::Enqueued => self.requests_enqueued.add_one(),
            Asked::Over => self.requests_over.add_one(),
            Asked::Refused => self.requests_refused.add_one(),
        }
    }

    pub(crate) fn waited(&self, waited: Waited) {
        match waited {
            Waited::Granted => self.requests_granted.add_one(),
            Waited::GrantedOver => self.requests_granted_over.add_one(),
            Waited::Expired => self.requests_expired.add_one(),
            Waited::Gone => self.requests_gone.add_one(),
        }
    }

    pub(crate) fn request_ended(&self) {
        self.requests_ended.add_one();
    }
}

impl Counts {
    /// Accepted connections that were not served, whether they had waited or not.
    pub fn refused(&self) -> u64 {
        self.refused_full
            + self.refused_per_client
            + self.refused_max_connections
            + self.refused_no_descriptor
            + self.refused_draining
            + self.refused_no_worker
            + self.refused_panicked
            + self.expired
    }

    /// Handed to other workers at once, in all.
    pub fn handed_off(&self) -> u64 {
        self.handed_to.iter().sum()
    }

    /// Sent to a worker after they had waited, in all.
    pub fn granted(&self) -> u64 {
        self.granted_to.iter().sum()
    }

    /// Started and over.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.timed_out + self.panicked + self.aborted
    }
}
