//! What a server tells of itself: counters per worker, totals, and the report at its end.

use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;

use crate::ledger::{Books, Counts, LawBroken, check};

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
    /// How many connections each worker serves at a time.
    pub limit: u32,
    /// How many sockets each worker holds open at the most.
    pub max_connections: u32,
    /// One for each worker.
    pub workers: Vec<WorkerStats>,
}

/// The state of one worker at one moment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct WorkerStats {
    /// The core that it is pinned to, if it is.
    pub core: Option<usize>,
    /// Open connections.
    pub active: u64,
    /// Permits taken: by its connections, and by those that are on their way to it.
    pub taken: u64,
    /// What has happened so far.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Stats {
    /// Open connections.
    pub fn active(&self) -> u64 {
        self.workers.iter().map(|worker| worker.active).sum()
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
            .map(|worker| Books { counts: &worker.counts, active: worker.active, taken: worker.taken })
            .collect();
        check(&books)
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        writeln!(f, "{} on {}, listening on {}", self.backend, self.driver, addresses.join(", "))?;
        writeln!(
            f,
            "{:>6} {:>4} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8}",
            "worker",
            "core",
            "active",
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
                "{index:>6} {core:>4} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8}",
                worker.active,
                counts.accepted,
                counts.local,
                counts.handed_off(),
                counts.received,
                counts.over_limit,
                counts.refused(),
                counts.ended(),
                counts.failed + counts.panicked + counts.aborted + counts.attach_failed,
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
        Ok(())
    }
}
