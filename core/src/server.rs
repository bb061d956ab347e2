//! A running server: its threads, its start and its end. What a worker does is in `worker`.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::backend::{Backend, Bind, BoundOf};
use crate::config::Config;
use crate::error::StartError;
use crate::handle::Handle;
use crate::handler::{Handler, WorkerInfo};
use crate::log;
use crate::mail::{PostOffice, mailboxes};
use crate::shared::{Board, Command};
use crate::signal::Forwarding;
use crate::stats::{Report, Stats};
use crate::sweeper::Sweeper;
use crate::sync::Ordering;
use crate::worker::{WorkerContext, worker};

/// How much longer than the grace period a worker may take before it counts as stuck: time to abort the rest.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// Starts a server: for each worker one thread, one runtime, and one listener per address. `factory` makes
/// each worker's handler, on the worker's thread. Returns when every worker serves.
///
/// # Errors
/// The configuration is wrong, an address cannot be had, the runtime cannot start here. Nothing is left behind.
pub fn start<B: Backend, H: Handler<B>>(
    config: &Config,
    runtime: &B::Config,
    factory: impl Fn(&WorkerInfo) -> H + Send + Sync + 'static,
) -> Result<Server, StartError> {
    let Assembly { handle, contexts, events, inbox } = assemble::<B>(config)?;
    let mut server = Server { threads: Vec::new(), inbox, handle, forwarding: None, sweeper: None };
    let factory = Arc::new(factory);
    for mut context in contexts {
        context.is_swept = true;
        let index = context.index;
        let (runtime, factory, events) = (runtime.clone(), Arc::clone(&factory), events.clone());
        let thread = std::thread::Builder::new().name(format!("corepool-{index}")).spawn(move || {
            run_worker::<B, H>(context, &runtime, |info| factory(info), &events);
        });
        match thread {
            Ok(thread) => server.threads.push(Some(thread)),
            Err(source) => return Err(server.give_up(StartError::Worker { worker: index, source })),
        }
    }
    drop(events);
    let mut server = server.await_start()?;
    let interval = server.handle.board().settings.sweep_interval();
    match Sweeper::start(server.handle(), server.handle.lines(), interval) {
        Ok(sweeper) => server.sweeper = Some(sweeper),
        Err(source) => return Err(server.give_up(StartError::Worker { worker: 0, source })),
    }
    Ok(server)
}

/// The parts of a server that has not started: for [`start`], and for a simulation that runs all the workers on
/// one thread.
#[non_exhaustive]
pub struct Assembly<B: Backend> {
    /// The remote control.
    pub handle: Handle,
    /// For each worker, what `worker` needs.
    pub contexts: Vec<WorkerContext<B>>,
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
}

impl<B: Backend> fmt::Debug for Assembly<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// Checks the configuration, binds the addresses, and makes the workers without starting any.
///
/// # Errors
/// The configuration is wrong, or an address cannot be had.
pub fn assemble<B: Backend>(config: &Config) -> Result<Assembly<B>, StartError> {
    let (settings, wanted) = config.settle()?;
    let workers = settings.workers();
    let mut addresses = Vec::new();
    let mut listeners: Vec<Vec<BoundOf<B>>> = (0..workers).map(|_| Vec::new()).collect();
    // An IPv6 wildcard takes IPv4 as well, unless IPv4's own wildcard was asked for.
    let v6_only = wanted.iter().any(|address| address.is_ipv4() && address.ip().is_unspecified());
    for address in wanted {
        let bind = Bind { address, listeners: workers, backlog: settings.backlog, v6_only };
        let (resolved, group) = B::bind(&bind).map_err(|source| StartError::Bind { address, source })?;
        addresses.push(resolved);
        for (own, listener) in listeners.iter_mut().zip(group) {
            own.push(listener);
        }
    }
    let board = Arc::new(Board::new(settings));
    let (senders, receivers) = mailboxes(workers);
    let office = Arc::new(PostOffice::new(&board, senders));
    let mut commands = Vec::new();
    let mut contexts = Vec::new();
    for (index, (listeners, mailbox)) in listeners.into_iter().zip(receivers).enumerate() {
        let (sender, receiver) = async_channel::unbounded();
        commands.push(sender);
        let (board, office) = (Arc::clone(&board), Arc::clone(&office));
        let is_swept = false;
        contexts.push(WorkerContext {
            index,
            board,
            office,
            listeners,
            mailbox,
            commands: receiver,
            is_swept,
        });
    }
    let (events, inbox) = mpsc::channel();
    let handle = Handle::new(B::NAME, addresses, board, commands, events.clone(), office);
    Ok(Assembly { handle, contexts, events, inbox })
}

/// What the threads of a server tell the one that waits for it.
#[derive(Debug)]
pub(crate) enum Event {
    Started { driver: &'static str },
    StartFailed { error: StartError },
    Ended { worker: usize, panicked: bool },
    Commanded(Command),
}

/// The body of a worker's thread.
fn run_worker<B: Backend, H: Handler<B>>(
    context: WorkerContext<B>,
    runtime: &B::Config,
    factory: impl FnOnce(&WorkerInfo) -> H,
    events: &mpsc::Sender<Event>,
) {
    let index = context.index;
    let core = context.board.settings.cores[index];
    // A receiver that is gone has given up on this server already.
    let tell = |event| drop(events.send(event));
    let started = |result: io::Result<&'static str>| match result {
        Ok(driver) => tell(Event::Started { driver }),
        Err(source) => tell(Event::StartFailed { error: StartError::Worker { worker: index, source } }),
    };
    let (board, office, mailbox) =
        (Arc::clone(&context.board), Arc::clone(&context.office), context.mailbox.clone());
    // A panic of the worker's own is caught here, inside the runtime: to unwind through one can abort the
    // process (compio), or leave it in disorder (monoio).
    let root = |driver| AssertUnwindSafe(worker(context, driver, factory, started)).catch_unwind();
    // A task that is not ours can still bring the runtime down: monoio does not survive one that panics.
    let panicked = match catch_unwind(AssertUnwindSafe(|| B::run(core, runtime, root))) {
        Ok(Ok(ended)) => ended.is_err(),
        Ok(Err(error)) => {
            tell(Event::StartFailed { error: error.into() });
            false
        }
        Err(_panic) => true,
    };
    if panicked {
        log::guarded(|| tracing::error!(worker = index, "a worker has died; the others go on"));
        mailbox.close();
        office.bury(index, std::iter::from_fn(|| mailbox.try_recv().ok()), Instant::now());
        board.write_off(index);
    }
    tell(Event::Ended { worker: index, panicked });
}

/// A running server. Dropping it asks it to end, and does not wait.
#[derive(Debug)]
pub struct Server {
    threads: Vec<Option<JoinHandle<()>>>,
    inbox: mpsc::Receiver<Event>,
    handle: Handle,
    forwarding: Option<Forwarding>,
    sweeper: Option<Sweeper>,
}

impl Server {
    /// The remote control, for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Waits until the server has ended, which somebody must ask for: [`Handle::shutdown`].
    ///
    /// When a worker has not ended a second after the grace period, a handler of its never yields; it is
    /// reported as stuck, and its thread is left behind.
    pub fn join(mut self) -> Report {
        let mut deadline: Option<Instant> = None;
        let mut panicked = Vec::new();
        while self.threads.iter().any(Option::is_some) {
            let event = match deadline {
                None => self.inbox.recv().ok(),
                Some(at) => self.inbox.recv_timeout(at.saturating_duration_since(Instant::now())).ok(),
            };
            match event {
                Some(Event::Ended { worker, panicked: by_panic }) => {
                    self.reap(worker);
                    if by_panic {
                        panicked.push(worker);
                    }
                }
                Some(Event::Commanded(command)) => {
                    let grace = match command {
                        Command::Drain => self.handle.board().settings.grace,
                        Command::Abort => Duration::ZERO,
                        Command::Sweep | Command::Report(_) => continue,
                    };
                    let at = Instant::now() + grace + STUCK_AFTER;
                    deadline = Some(deadline.map_or(at, |earlier| earlier.min(at)));
                }
                Some(Event::Started { .. } | Event::StartFailed { .. }) => {}
                None => break,
            }
        }
        let running = self.threads.iter().enumerate().filter(|(_, thread)| thread.is_some());
        let stuck = running.map(|(worker, _)| worker).collect();
        let unfiltered = self.handle.board().unfiltered.load(Ordering::Relaxed);
        Report { stats: self.handle.stats(), stuck, panicked, unfiltered }
    }

    /// From now on SIGTERM and SIGINT end the server: the first politely, the second at once.
    ///
    /// Call it before anybody is told that the server is there: until then a signal ends the process as it
    /// would any other.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub fn end_on_signal(&mut self) -> io::Result<()> {
        self.forwarding = Some(Forwarding::start(self.handle())?);
        Ok(())
    }

    /// Serves until SIGTERM or SIGINT, then drains; a second signal ends everything at once.
    ///
    /// # Errors
    /// Signals cannot be listened to.
    pub fn run_until_signal(mut self) -> io::Result<Report> {
        self.end_on_signal()?;
        Ok(self.join())
    }

    /// The counters of this moment.
    pub fn stats(&self) -> Stats {
        self.handle.stats()
    }

    fn await_start(mut self) -> Result<Self, StartError> {
        let mut waiting = self.threads.len();
        while waiting > 0 {
            match self.inbox.recv() {
                Ok(Event::Started { driver }) => {
                    self.handle.set_driver(driver);
                    waiting -= 1;
                }
                Ok(Event::StartFailed { error }) => return Err(self.give_up(error)),
                Ok(Event::Ended { worker, .. }) => {
                    self.reap(worker);
                    let source = io::Error::other("its handler's factory panicked");
                    return Err(self.give_up(StartError::Worker { worker, source }));
                }
                Ok(Event::Commanded(_)) | Err(_) => {}
            }
        }
        Ok(self)
    }

    /// Ends the workers that have started, because one cannot.
    fn give_up(mut self, error: StartError) -> StartError {
        self.handle.abort();
        for worker in 0..self.threads.len() {
            self.reap(worker);
        }
        error
    }

    fn reap(&mut self, worker: usize) {
        if let Some(thread) = self.threads[worker].take() {
            // Panics were caught on the thread, and told as events.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}
