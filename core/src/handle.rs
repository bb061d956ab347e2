//! The remote control of a server: what any thread may ask of it.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, mpsc};

use async_channel::Sender;

use crate::server::Event;
use crate::shared::{Board, Command};
use crate::stats::{Stats, WorkerStats};

/// The remote control of a running server. Clones control the same server, from any thread.
#[derive(Debug, Clone)]
pub struct Handle {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    backend: &'static str,
    driver: OnceLock<&'static str>,
    addresses: Vec<SocketAddr>,
    board: Arc<Board>,
    commands: Vec<Sender<Command>>,
    events: mpsc::Sender<Event>,
}

impl Handle {
    pub(crate) fn new(
        backend: &'static str,
        addresses: Vec<SocketAddr>,
        board: Arc<Board>,
        commands: Vec<Sender<Command>>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let driver = OnceLock::new();
        Self { inner: Arc::new(Inner { backend, driver, addresses, board, commands, events }) }
    }

    /// Where the server listens, with the port that was resolved for port 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.inner.addresses
    }

    /// The counters of this moment.
    pub fn stats(&self) -> Stats {
        let Inner { backend, driver, addresses, board, .. } = &*self.inner;
        let settings = &board.settings;
        let worker = |(index, core): (usize, &Option<crate::cores::CoreId>)| WorkerStats {
            core: core.map(|core| core.0),
            active: board.active(index),
            taken: u64::from(board.gates.gate(index).taken()),
            counts: board.counts(index),
        };
        Stats {
            backend,
            driver: driver.get().copied().unwrap_or("not started"),
            addresses: addresses.clone(),
            limit: settings.limit,
            max_connections: settings.max_connections,
            workers: settings.cores.iter().enumerate().map(worker).collect(),
        }
    }

    /// Asks the server to end: it accepts nothing more, serves whoever has connected before, ends the input of
    /// every connection, lets handlers finish within the grace period, and aborts the rest. Returns at once;
    /// asking again changes nothing.
    pub fn shutdown(&self) {
        self.command(Command::Drain);
    }

    /// Ends every connection at once. Returns at once.
    pub fn abort(&self) {
        self.command(Command::Abort);
    }

    /// Makes every worker that has connections or pools look over them, unless it has not come to its last command yet.
    pub(crate) fn sweep(&self) {
        for (worker, commands) in self.inner.commands.iter().enumerate() {
            if self.inner.board.has_work_for_a_sweep(worker) && commands.is_empty() {
                let _ended = commands.try_send(Command::Sweep);
            }
        }
    }

    fn command(&self, command: Command) {
        // Receivers that are gone have ended already.
        let _ = self.inner.events.send(Event::Commanded(command));
        for worker in &self.inner.commands {
            let _ = worker.try_send(command);
        }
    }

    pub(crate) fn set_driver(&self, driver: &'static str) {
        let _ = self.inner.driver.set(driver);
    }

    pub(crate) fn board(&self) -> &Board {
        &self.inner.board
    }
}
