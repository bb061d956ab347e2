//! The worker: one future that accepts, receives what others hand over, sweeps, and winds down.
//!
//! A thin loop of I/O round decisions made elsewhere. Several workers can run on one thread, in simulation.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use async_channel::Receiver;
use futures_util::Stream;

use crate::backend::{Backend, BoundOf, Listener};
use crate::closing;
use crate::config::Overflow;
use crate::connection::Route;
use crate::handler::{Handler, WorkerInfo};
use crate::ledger::Refusal;
use crate::local::{Arrival, Local, Permit};
use crate::log;
use crate::runtime::Runtime;
use crate::serve::serve;
use crate::shared::{Board, Command, Envelope, Mailboxes};
use crate::upkeep::Upkeep;

/// How often a worker looks over its connections. One that has been idle for two sweeps, and so for less than
/// a second, gives its receive buffer back.
pub(crate) const SWEEP_INTERVAL: Duration = Duration::from_millis(400);

/// How often it looks while it drains: how long a connection's input must have been quiet to end.
const DRAIN_SWEEP_INTERVAL: Duration = Duration::from_millis(10);

/// How many connections are accepted from one listener, or received, before others have a turn.
const BURST_MAX: usize = 64;

/// How long accepting pauses when the kernel is out of descriptors or memory, for each worker that there is:
/// all workers together fail a hundred times a second at the most.
const BACKOFF_PER_WORKER: Duration = Duration::from_millis(10);

/// How often failing to accept is reported in the log, at the most.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Everything that one worker needs, made before its thread.
pub struct WorkerContext<B: Backend> {
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) mailboxes: Arc<Mailboxes<B::Socket>>,
    pub(crate) listeners: Vec<BoundOf<B>>,
    pub(crate) mailbox: Receiver<Envelope<B::Socket>>,
    pub(crate) commands: Receiver<Command>,
    /// Whether sweeps are commanded from outside, and cost no timer.
    pub(crate) is_swept: bool,
}

impl<B: Backend> fmt::Debug for WorkerContext<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerContext").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Runs one worker until it is told to leave and everything that it serves has ended.
///
/// `factory` makes the handler. `started` is told once whether the worker serves, and over which `driver`.
pub async fn worker<B: Backend, H: Handler<B>>(
    context: WorkerContext<B>,
    driver: &'static str,
    factory: impl FnOnce(&WorkerInfo) -> H,
    started: impl FnOnce(io::Result<&'static str>),
) {
    let settings = &context.board.settings;
    let core = settings.cores[context.index];
    let upkeep = upkeep(&context);
    let info = WorkerInfo {
        index: context.index,
        workers: settings.workers(),
        core,
        driver,
        runtime: Runtime::of::<B>(),
        upkeep: upkeep.clone(),
    };
    let attached: io::Result<Vec<_>> = context.listeners.into_iter().map(B::Listener::attach).collect();
    let listeners = match attached {
        Ok(listeners) => listeners,
        Err(error) => return started(Err(error)),
    };
    let mut worker = Worker {
        local: Rc::new(Local::new(context.index, context.board, context.mailboxes)),
        handler: Rc::new(factory(&info)),
        listeners,
        mailbox: Box::pin(context.mailbox),
        commands: Box::pin(context.commands),
        phase: Phase::Serving,
        backoff: None,
        is_swept: context.is_swept,
        sweep: None,
        last_call: None,
        logged: None,
        upkeep: upkeep.clone(),
    };
    started(Ok(driver));
    poll_fn(|cx| worker.poll(cx)).await;
    upkeep.close();
    closing::finished().await;
    drop(worker); // and the handler with it, which may have connections of its own
    closing::finished().await;
}

/// What the worker will look after; the board is told whether that is anything, since who commands sweeps asks it.
fn upkeep<B: Backend>(context: &WorkerContext<B>) -> Upkeep {
    let (board, index) = (Arc::clone(&context.board), context.index);
    let seed = board.settings.seed.wrapping_add(index as u64);
    Upkeep::new(seed, move |count| board.set_tended(index, count))
}

/// Where a worker is in its life.
enum Phase {
    Serving,
    /// Nothing new is accepted; what is left may go on until the grace period ends.
    Draining(Timer),
    /// Whatever is left is aborted.
    Aborting,
}

/// A timer: the few that a worker has are boxed, none is on the path of a message.
type Timer = Pin<Box<dyn Future<Output = ()>>>;

struct Worker<B: Backend, H> {
    local: Rc<Local<B>>,
    handler: Rc<H>,
    listeners: Vec<B::Listener>,
    mailbox: Pin<Box<Receiver<Envelope<B::Socket>>>>,
    commands: Pin<Box<Receiver<Command>>>,
    phase: Phase,
    /// Accepting pauses while this runs.
    backoff: Option<Timer>,
    /// Sweeps are commanded from outside while it serves.
    is_swept: bool,
    /// Runs while connections are open, unless sweeps are commanded.
    sweep: Option<Timer>,
    /// Runs from the begin of a drain until the listeners are emptied once more, and closed.
    last_call: Option<Timer>,
    /// When failing to accept was last reported.
    logged: Option<Instant>,
    upkeep: Upkeep,
}

impl<B: Backend, H: Handler<B>> Worker<B, H> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.obey(cx);
        self.receive(cx);
        self.accept(cx);
        self.sweep(cx);
        self.leave(cx)
    }

    /// Follows the commands. A server whose handle is gone is told nothing any more, and drains.
    fn obey(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(command) = self.commands.as_mut().poll_next(cx) {
            match command {
                Some(Command::Abort) => {
                    self.drain();
                    self.abort();
                }
                Some(Command::Drain) => self.drain(),
                Some(Command::Sweep) => self.look_over(),
                None => return self.drain(),
            }
        }
    }

    fn drain(&mut self) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        let settings = self.local.settings();
        self.phase = Phase::Draining(Box::pin(B::sleep(settings.grace)));
        self.backoff = None;
        // Whoever has connected before is still served. A handshake whose last part is still on its way gets
        // until the last call; then the listeners are closed.
        self.accept_queued();
        self.last_call = Some(Box::pin(B::sleep(DRAIN_SWEEP_INTERVAL)));
        self.local.registry().kick_all();
        self.sweep = None; // the next one comes sooner
    }

    fn accept_queued(&mut self) {
        for index in 0..self.listeners.len() {
            for _ in 0..self.local.settings().backlog {
                let Ok(Some((socket, peer))) = self.listeners[index].try_accept() else { break };
                self.admit(socket, peer);
            }
        }
    }

    fn abort(&mut self) {
        self.phase = Phase::Aborting;
        self.last_call = None;
        self.local.registry().abort_all();
    }

    fn receive(&mut self, cx: &mut Context<'_>) {
        for _ in 0..BURST_MAX {
            let Poll::Ready(Some(envelope)) = self.mailbox.as_mut().poll_next(cx) else { return };
            self.local.ledger().received();
            let route = Route::HandedOff { from: envelope.from };
            self.serve(Arrival { socket: envelope.socket, peer: envelope.peer, route });
            match self.phase {
                Phase::Serving => {}
                Phase::Draining(_) => self.local.registry().kick_all(),
                Phase::Aborting => self.local.registry().abort_all(),
            }
        }
        cx.waker().wake_by_ref();
    }

    fn accept(&mut self, cx: &mut Context<'_>) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        if let Some(timer) = &mut self.backoff {
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.backoff = None;
        }
        for index in 0..self.listeners.len() {
            if let Err(error) = self.accept_burst(index, cx) {
                self.accept_failed(&error, cx);
            }
        }
    }

    fn accept_burst(&mut self, index: usize, cx: &mut Context<'_>) -> io::Result<()> {
        while self.listeners[index].poll_ready(cx)?.is_ready() {
            for accepted in 1..=BURST_MAX {
                let Some((socket, peer)) = self.listeners[index].try_accept()? else { break };
                self.admit(socket, peer);
                if accepted == BURST_MAX {
                    cx.waker().wake_by_ref();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Out of descriptors or memory: pause. A spin would take the core from those who could free some.
    fn accept_failed(&mut self, error: &io::Error, cx: &mut Context<'_>) {
        self.local.ledger().accept_failed();
        let now = B::now();
        if self.logged.is_none_or(|last| now.duration_since(last) >= LOG_INTERVAL) {
            self.logged = Some(now);
            let worker = self.local.index;
            log::guarded(
                || tracing::warn!(worker, %error, "cannot accept, so it pauses before it tries again"),
            );
        }
        let workers = u32::try_from(self.local.settings().workers()).unwrap_or(u32::MAX);
        let mut timer: Timer = Box::pin(B::sleep(BACKOFF_PER_WORKER.saturating_mul(workers.max(2))));
        if timer.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        self.backoff = Some(timer);
    }

    /// Decides about one accepted connection: here, elsewhere, over the limit, or not at all.
    fn admit(&self, socket: B::Socket, peer: SocketAddr) {
        let local = &*self.local;
        let board = &*local.board;
        let mut random = local.random.borrow_mut();
        let placed = local.settings().placement.take(local.index, &board.gates, &board.turn, &mut random);
        match placed {
            Some(worker) if worker == local.index => {
                local.ledger().accepted_here();
                self.serve(Arrival { socket, peer, route: Route::Local });
            }
            Some(worker) => self.hand_over(worker, Envelope { socket, peer, from: local.index }),
            None => self.overflow(socket, peer),
        }
    }

    fn hand_over(&self, worker: usize, envelope: Envelope<B::Socket>) {
        // Counted first: the receiver may count the arrival before this returns.
        self.local.ledger().accepted_and_handed_to(worker);
        if self.local.mailboxes[worker].try_send(envelope).is_err() {
            // Its thread has died, and its counters with it; the connection stays in transit for ever.
            log::guarded(|| {
                tracing::error!(worker, "a connection was lost: it was handed to a worker that has died")
            });
        }
    }

    fn overflow(&self, socket: B::Socket, peer: SocketAddr) {
        let local = &*self.local;
        let settings = local.settings();
        let refusal = match settings.overflow {
            _ if !matches!(self.phase, Phase::Serving) => Refusal::Draining,
            Overflow::Reject => Refusal::Full,
            Overflow::ServeAnyway if local.registry().len() >= settings.max_connections as usize => {
                Refusal::MaxConnections
            }
            Overflow::ServeAnyway if !local.gate().force_take() => Refusal::Draining,
            Overflow::ServeAnyway => {
                local.ledger().accepted_over_limit();
                return self.serve(Arrival { socket, peer, route: Route::OverLimit });
            }
        };
        local.ledger().accepted_and_refused(refusal);
    }

    /// Serves a connection for which a permit of this worker has been taken.
    fn serve(&self, arrival: Arrival<B::Socket>) {
        serve(&self.handler, arrival, Permit::adopt(&self.local));
    }

    fn sweep(&mut self, cx: &mut Context<'_>) {
        loop {
            let serving = matches!(self.phase, Phase::Serving);
            let is_idle = self.local.registry().len() == 0 && self.upkeep.is_empty();
            if is_idle || (serving && self.is_swept) {
                self.sweep = None;
                return;
            }
            let interval = if serving { SWEEP_INTERVAL } else { DRAIN_SWEEP_INTERVAL };
            let timer = self.sweep.get_or_insert_with(|| Box::pin(B::sleep(interval)));
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.sweep = None;
            self.look_over();
        }
    }

    fn look_over(&self) {
        self.local.registry().sweep();
        if !self.upkeep.is_empty() {
            self.upkeep.sweep(B::now());
        }
    }

    /// Ready when nothing is left: no listener, no connection, and nothing on its way to this worker.
    fn leave(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.phase {
            Phase::Serving => return Poll::Pending,
            Phase::Draining(grace) => {
                if grace.as_mut().poll(cx).is_ready() {
                    self.abort();
                }
            }
            Phase::Aborting => {}
        }
        if let Some(last_call) = &mut self.last_call {
            ready!(last_call.as_mut().poll(cx));
            self.last_call = None;
            self.accept_queued();
            self.local.registry().kick_all();
            self.sweep(cx);
        }
        while let Some(listener) = self.listeners.last_mut() {
            ready!(listener.poll_close(cx));
            self.listeners.pop();
        }
        if self.local.registry().is_empty(cx) && self.local.gate().try_close() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
