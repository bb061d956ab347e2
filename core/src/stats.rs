//! What a server tells of itself: counters per worker, totals, and the report at its end.

use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;

use crate::config::Scope;
use crate::laws::{Books, LawBroken, check};
use crate::ledger::Counts;
use crate::times::WorkerTimes;

/// The state of a server at one moment.
///
/// While connections come and go the figures of different workers are of slightly different moments; they are
/// exact when nothing moves, and after the server has ended.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The name of the backend.
    pub backend: &'static str,
    /// The driver that really runs underneath: "epoll", "`io_uring`" or "simulated".
    pub driver: &'static str,
    /// Where the server listens.
    pub addresses: Vec<SocketAddr>,
    /// What permits are for.
    pub scope: Scope,
    /// How many sockets each worker holds open at the most.
    pub max_connections: u32,
    /// One for each worker.
    pub workers: Vec<WorkerStats>,
}

/// The state of one worker at one moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkerStats {
    /// The core that it is pinned to, if it is.
    pub core: Option<usize>,
    /// How many connections, or requests, it serves at a time: the limit that is in force.
    pub limit: u64,
    /// Open connections.
    pub active: u64,
    /// Connections that it accepted and that wait for a permit.
    pub waiting: u64,
    /// Permits of connections taken: by its own, and by those that are on their way to it.
    pub taken: u64,
    /// Permits of requests taken.
    pub requests_taken: u64,
    /// Requests that wait for a permit.
    pub requests_waiting: u64,
    /// How long things took.
    pub times: WorkerTimes,
    /// What has happened so far.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Stats {
    /// Open connections.
    pub fn active(&self) -> u64 {
        self.workers.iter().map(|worker| worker.active).sum()
    }

    /// Connections that wait for a permit.
    pub fn waiting(&self) -> u64 {
        self.workers.iter().map(|worker| worker.waiting).sum()
    }

    /// A counter, summed over the workers.
    pub fn total(&self, counter: impl Fn(&Counts) -> u64) -> u64 {
        self.workers.iter().map(|worker| counter(&worker.counts)).sum()
    }

    /// Checks the laws of the counters. They hold when nothing moves: after the server has ended, or when no
    /// connection comes or goes.
    ///
    /// # Errors
    /// Names the law that is broken, and the worker: a bug of corepool.
    pub fn check_laws(&self) -> Result<(), LawBroken> {
        let books: Vec<_> = self
            .workers
            .iter()
            .map(|worker| Books {
                counts: &worker.counts,
                waiting: worker.waiting,
                active: worker.active,
                taken: worker.taken,
                requests_taken: worker.requests_taken,
                requests_waiting: worker.requests_waiting,
            })
            .collect();
        check(&books)
    }
}

impl Stats {
    /// The handoff matrix: how many connections each worker (the row) accepted for each (the column), those
    /// that it serves itself on the diagonal.
    pub fn matrix(&self) -> Vec<Vec<u64>> {
        let row = |(index, worker): (usize, &WorkerStats)| {
            let counts = &worker.counts;
            let mut row: Vec<u64> = counts
                .handed_to
                .iter()
                .zip(&counts.granted_to)
                .map(|(handed, granted)| handed + granted)
                .collect();
            row[index] += counts.local + counts.over_limit;
            row
        };
        self.workers.iter().enumerate().map(row).collect()
    }

    /// How unevenly the connections that were served are spread over the workers.
    pub fn imbalance(&self) -> Imbalance {
        let served: Vec<u64> = self.workers.iter().map(|worker| worker.counts.started).collect();
        Imbalance::of(&served)
    }
}

/// How unevenly something is spread over the workers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Imbalance {
    /// The largest share over the mean: 1 is even, the number of workers is all on one.
    pub max_over_mean: f64,
    /// Jain's fairness index: 1 is even, one over the number of workers is all on one.
    pub jain: f64,
}

impl Imbalance {
    /// Of these shares; even if there is nothing to share.
    pub fn of(shares: &[u64]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "shares of 2^53 do not occur, and need not be exact")]
        let shares: Vec<f64> = shares.iter().map(|&share| share as f64).collect();
        let (count, sum) = (shares.iter().fold(0.0, |count, _| count + 1.0), shares.iter().sum::<f64>());
        if sum == 0.0 {
            return Self { max_over_mean: 1.0, jain: 1.0 };
        }
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let most = shares.iter().copied().fold(0.0, f64::max);
        Self { max_over_mean: most * count / sum, jain: sum * sum / (count * squares) }
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        writeln!(f, "{} on {}, listening on {}", self.backend, self.driver, addresses.join(", "))?;
        writeln!(
            f,
            "{:>6} {:>4} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8}",
            "worker",
            "core",
            "active",
            "waiting",
            "accepted",
            "local",
            "given",
            "taken",
            "over",
            "refused",
            "ended",
            "failed"
        )?;
        for (index, worker) in self.workers.iter().enumerate() {
            let counts = &worker.counts;
            let core = worker.core.map_or_else(|| "-".into(), |core| core.to_string());
            writeln!(
                f,
                "{index:>6} {core:>4} {:>8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8}",
                worker.active,
                worker.waiting,
                counts.accepted,
                counts.local,
                counts.handed_off(),
                counts.received,
                counts.over_limit,
                counts.refused(),
                counts.ended(),
                counts.failed + counts.timed_out + counts.panicked + counts.aborted + counts.attach_failed,
            )?;
        }
        Ok(())
    }
}

/// What became of everything, after a server has ended.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The final counters.
    pub stats: Stats,
    /// Workers that had not ended when the grace period and a second more were over: a handler of theirs never
    /// yields. Their threads were left behind.
    pub stuck: Vec<usize>,
    /// Workers whose own code panicked: a bug of corepool, or of the handler's factory.
    pub panicked: Vec<usize>,
    /// The kernel did not let new handshakes be kept out while the listeners closed: a client that connected just
    /// then may have been reset.
    pub unfiltered: bool,
}

impl Report {
    /// Whether every worker ended as it should.
    pub fn is_clean(&self) -> bool {
        self.stuck.is_empty() && self.panicked.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats.fmt(f)?;
        for (what, workers) in [("stuck", &self.stuck), ("panicked", &self.panicked)] {
            if !workers.is_empty() {
                writeln!(f, "{what} workers: {workers:?}")?;
            }
        }
        if self.unfiltered {
            writeln!(
                f,
                "who connected while the listeners closed may have been reset: the kernel allowed no filter"
            )?;
        }
        Ok(())
    }
}
