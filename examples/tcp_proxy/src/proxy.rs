//! The handler: one upstream connection for each client, for as long as either has something to say.

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use corepool::{Address, Backend, Connection, Connector, Handler, WorkerInfo};

use crate::relay::relay;
use crate::upstreams::Upstreams;
use crate::watchdog::Watchdog;

/// What a proxy is told.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a plain record of options")]
pub struct Options {
    /// The upstreams, each with all its addresses.
    pub upstreams: Vec<Vec<Address>>,
    /// How long connecting to one upstream may take.
    pub connect_timeout: Duration,
    /// How long a connection may go without a byte in either direction.
    pub idle_timeout: Duration,
}

/// What all workers of a proxy have done, once they have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Clients that were relayed to their end.
    pub relayed: u64,
    /// Clients for whom no upstream could be reached.
    pub unreached: u64,
    /// Upstreams that could not be reached, and were passed over.
    pub passed_over: u64,
    /// Clients cut off because nothing moved for too long.
    pub idle: u64,
    /// Clients cut off by an error of either socket.
    pub failed: u64,
}

/// Totals that several workers add to.
pub type SharedTotals = Arc<Mutex<Totals>>;

/// The handler of one worker.
#[derive(Debug)]
pub struct TcpProxy {
    upstreams: Upstreams,
    watchdog: Watchdog,
    totals: Cell<Totals>,
    shared: SharedTotals,
}

impl TcpProxy {
    /// The handler of this worker. What it has done is added to `totals` when it is dropped.
    #[must_use]
    pub fn new(options: &Options, worker: &WorkerInfo, totals: &SharedTotals) -> Self {
        let connector = Connector::new().deadline(options.connect_timeout);
        Self {
            upstreams: Upstreams::new(options.upstreams.clone(), worker.index, connector),
            watchdog: Watchdog::new(worker, options.idle_timeout),
            totals: Cell::default(),
            shared: Arc::clone(totals),
        }
    }

    fn count(&self, which: impl FnOnce(&mut Totals) -> &mut u64) {
        let mut totals = self.totals.get();
        *which(&mut totals) += 1;
        self.totals.set(totals);
    }
}

impl<B: Backend> Handler<B> for TcpProxy {
    async fn serve(&self, mut client: Connection<B>) -> io::Result<()> {
        let passed_over = |error: &_| {
            tracing::warn!(%error, "passed over");
            self.count(|totals| &mut totals.passed_over);
        };
        let mut upstream = match self.upstreams.connect::<B>(passed_over).await {
            Ok(upstream) => upstream,
            Err(error) => {
                self.count(|totals| &mut totals.unreached);
                return Err(io::Error::new(io::ErrorKind::NotConnected, error));
            }
        };
        let watched = self.watchdog.watch();
        let relayed = relay(&mut client, &mut upstream, Some(&watched)).await;
        self.count(|totals| match &relayed {
            Ok(_) => &mut totals.relayed,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => &mut totals.idle,
            Err(_) => &mut totals.failed,
        });
        relayed.map(|_bytes| ())
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = self.totals.get();
        all.relayed += mine.relayed;
        all.unreached += mine.unreached;
        all.passed_over += mine.passed_over;
        all.idle += mine.idle;
        all.failed += mine.failed;
    }
}
