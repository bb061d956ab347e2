//! The remote control of a server: what any thread may ask of it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use async_channel::Sender;

use crate::cores::CoreId;
use crate::laws::LawBroken;
use crate::mail::Lines;
use crate::server::Event;
use crate::shared::{Board, Command};
use crate::stats::{Stats, WorkerStats};
use crate::times::WorkerTimes;

/// The remote control of a running server. Clones control the same server, from any thread.
#[derive(Debug, Clone)]
pub struct Handle {
    inner: Arc<Inner>,
}

struct Inner {
    backend: &'static str,
    driver: OnceLock<&'static str>,
    addresses: Vec<SocketAddr>,
    board: Arc<Board>,
    commands: Vec<Sender<Command>>,
    events: mpsc::Sender<Event>,
    lines: Arc<dyn Lines>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, driver, addresses, .. } = self;
        let mut all = f.debug_struct("Inner");
        all.field("backend", backend).field("driver", driver).field("addresses", addresses);
        all.finish_non_exhaustive()
    }
}

impl Handle {
    pub(crate) fn new(
        backend: &'static str,
        addresses: Vec<SocketAddr>,
        board: Arc<Board>,
        commands: Vec<Sender<Command>>,
        events: mpsc::Sender<Event>,
        lines: Arc<dyn Lines>,
    ) -> Self {
        let driver = OnceLock::new();
        Self { inner: Arc::new(Inner { backend, driver, addresses, board, commands, events, lines }) }
    }

    /// Where the server listens, with the port that was resolved for port 0.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.inner.addresses
    }

    /// The counters of this moment.
    pub fn stats(&self) -> Stats {
        self.look(|worker| self.board().times(worker).snapshot())
    }

    /// Checks the laws of the counters, as [`Stats::check_laws`] does, and looks at nothing else: for who checks
    /// after every step.
    ///
    /// # Errors
    /// Names the law that is broken, and the worker.
    pub fn check_laws(&self) -> Result<(), LawBroken> {
        self.counts().check_laws()
    }

    /// As [`stats`](Self::stats), without how long things took, which takes the longest to find out.
    fn counts(&self) -> Stats {
        self.look(|_worker| WorkerTimes::default())
    }

    fn look(&self, times: impl Fn(usize) -> WorkerTimes) -> Stats {
        let Inner { backend, driver, addresses, board, lines, .. } = &*self.inner;
        let settings = &board.settings;
        let waiting = lines.waiting();
        let worker = |(index, core): (usize, &Option<CoreId>)| {
            let (requests_taken, requests_waiting) = board.requests(index);
            WorkerStats {
                core: core.map(|core| core.0),
                limit: board.limit(index),
                active: board.active(index),
                waiting: waiting[index],
                taken: u64::from(board.gates.gate(index).taken()),
                requests_taken,
                requests_waiting,
                times: times(index),
                counts: board.counts(index),
            }
        };
        Stats {
            backend,
            driver: driver.get().copied().unwrap_or("not started"),
            addresses: addresses.clone(),
            scope: settings.scope,
            max_connections: settings.max_connections,
            workers: settings.cores.iter().enumerate().map(worker).collect(),
        }
    }

    /// Waits until nothing moves: until two looks at all counters, with every worker's answer between them, are
    /// the same and no connection is on its way. The laws hold then. A server that is busy may never get there.
    ///
    /// # Errors
    /// It was not so within `patience`: the counters as they were last.
    pub fn settled(&self, patience: Duration) -> Result<Stats, Box<Stats>> {
        let end = Instant::now() + patience;
        let mut last: Option<Stats> = None;
        loop {
            let have_answered = self.ask_all(end);
            let mut now = self.counts();
            let is_settled = have_answered
                && last.is_some_and(|last| last.workers == now.workers)
                && now.check_laws().is_ok();
            if !is_settled && Instant::now() < end {
                last = Some(now);
                continue;
            }
            for (index, worker) in now.workers.iter_mut().enumerate() {
                worker.times = self.board().times(index).snapshot();
            }
            return if is_settled { Ok(now) } else { Err(Box::new(now)) };
        }
    }

    /// Waits until every worker that is there has done what it was told before; `false` if one has not in time.
    fn ask_all(&self, end: Instant) -> bool {
        let (answer, answers) = mpsc::channel();
        let asked = |worker: &&Sender<Command>| worker.try_send(Command::Report(answer.clone())).is_ok();
        let expected = self.inner.commands.iter().filter(asked).count();
        drop(answer);
        let wait = |_| answers.recv_timeout(end.saturating_duration_since(Instant::now()));
        // A worker that leaves without an answer drops its question.
        (0..expected).map(wait).all(|answered| answered != Err(mpsc::RecvTimeoutError::Timeout))
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
        let _ = self.inner.events.send(Event::Commanded(command.clone()));
        for worker in &self.inner.commands {
            let _ = worker.try_send(command.clone());
        }
    }

    pub(crate) fn set_driver(&self, driver: &'static str) {
        let _ = self.inner.driver.set(driver);
    }

    pub(crate) fn lines(&self) -> Arc<dyn Lines> {
        Arc::clone(&self.inner.lines)
    }

    pub(crate) fn board(&self) -> &Board {
        &self.inner.board
    }
}
