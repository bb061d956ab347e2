//! The worker: one future that accepts, receives what others send it, sweeps, and winds down.
//!
//! A thin loop of I/O round decisions made elsewhere. Several workers can run on one thread, in simulation.

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_channel::Receiver;
use futures_util::Stream;

use crate::accepting::{SHED_MAX, Troubles, pause};
use crate::admission::limit::{Controller, Observed};
use crate::admit::{Admitted, admit};
use crate::backend::{Backend, BoundOf, Listener};
use crate::closing;
use crate::config::Scope;
use crate::connection::Route;
use crate::contain::contain;
use crate::handler::{Handler, WorkerInfo};
use crate::last_call::{LastCall, PASS, Step};
use crate::ledger::Refusal;
use crate::local::{Arrival, Greeting, Local};
use crate::log;
use crate::mail::{Lines, Parcel, PostOffice};
use crate::runtime::Runtime;
use crate::serve::{refuse, serve};
use crate::shared::{Board, Command};
use crate::sync::Ordering;
use crate::upkeep::Upkeep;

/// How many connections are accepted from one listener, or received, before others have a turn.
const BURST_MAX: usize = 64;

/// How long a worker that has panicked accepts nothing, so that one that panics again and again does not spin.
const PAUSE_AFTER_PANIC: Duration = Duration::from_millis(10);

/// Everything that one worker needs, made before its thread.
pub struct WorkerContext<B: Backend> {
    pub(crate) index: usize,
    pub(crate) board: Arc<Board>,
    pub(crate) office: Arc<PostOffice<B::Socket>>,
    pub(crate) listeners: Vec<BoundOf<B>>,
    pub(crate) mailbox: Receiver<Parcel<B::Socket>>,
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
    let controller = settings.admission.as_ref().and_then(|admission| admission.controller());
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
    let handler = match catch_unwind(AssertUnwindSafe(|| factory(&info))) {
        Ok(handler) => Rc::new(handler),
        Err(panic) => {
            end(&upkeep).await;
            resume_unwind(panic)
        }
    };
    let mut worker = Worker {
        local: Rc::new(Local::new(context.index, context.board, context.office)),
        handler,
        listeners,
        mailbox: Box::pin(context.mailbox),
        commands: Box::pin(context.commands),
        phase: Phase::Serving,
        controller,
        backoff: None,
        is_paused: false,
        is_swept: context.is_swept,
        sweep: None,
        last_call: None,
        troubles: Troubles::default(),
        upkeep: upkeep.clone(),
    };
    started(Ok(driver));
    poll_fn(|cx| match contain(|| worker.poll(cx)) {
        Some(polled) => polled,
        None => worker.start_again(cx),
    })
    .await;
    end(&upkeep).await;
    drop(worker); // and the handler with it, which may have connections of its own
    closing::finished().await;
}

/// Ends what goes on besides connections. The runtime may leak what is in flight when it ends.
async fn end(upkeep: &Upkeep) {
    upkeep.close();
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
    mailbox: Pin<Box<Receiver<Parcel<B::Socket>>>>,
    commands: Pin<Box<Receiver<Command>>>,
    phase: Phase,
    /// Adjusts the limit.
    controller: Option<Box<dyn Controller>>,
    /// Nothing is accepted while this runs.
    backoff: Option<Timer>,
    /// Nothing is accepted until a connection that waits for a permit has got it.
    is_paused: bool,
    /// Sweeps are commanded from outside while it serves.
    is_swept: bool,
    /// Runs while connections are open or wait, unless sweeps are commanded.
    sweep: Option<Timer>,
    /// From the begin of a drain until the listeners are closed, and when to look again.
    last_call: Option<(LastCall, Timer)>,
    troubles: Troubles,
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

    /// The worker's own code has panicked: in a policy of the user's, or by a bug of ours. What it held in its hand
    /// is lost and counted; the connections that it serves are tasks of their own, and go on.
    fn start_again(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.local.ledger().restarted();
        let worker = self.local.index;
        log::guarded(|| tracing::error!(worker, "a worker has panicked, and is started again"));
        self.backoff = Some(Box::pin(B::sleep(PAUSE_AFTER_PANIC)));
        cx.waker().wake_by_ref();
        Poll::Pending
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
                // Whoever asks does not wait any more if this cannot be told.
                Some(Command::Report(answer)) => drop(answer.send(())),
                None => return self.drain(),
            }
        }
    }

    fn drain(&mut self) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        self.phase = Phase::Draining(Box::pin(B::sleep(self.local.settings().grace)));
        self.local.greeting.set(Greeting::Kick);
        self.backoff = None;
        // Whoever has connected before is still served.
        let mut is_filtered = true;
        for listener in &mut self.listeners {
            is_filtered &= listener.refuse_new().is_ok();
        }
        if !is_filtered {
            self.local.board.unfiltered.store(true, Ordering::Relaxed);
        }
        self.accept_queued();
        self.last_call = Some((LastCall::new(is_filtered), Box::pin(B::sleep(PASS))));
        self.local.registry().kick_all();
        self.sweep = None; // the next one comes sooner
    }

    /// Accepts whatever is queued, and says how many there were. Out of descriptors there may be one, which is accepted
    /// when a connection has ended.
    fn accept_queued(&mut self) -> usize {
        let mut found = 0;
        for index in 0..self.listeners.len() {
            for _ in 0..self.local.settings().backlog {
                let accepted = self.listeners[index].try_accept();
                if matches!(accepted, Ok(None)) {
                    break;
                }
                found += 1;
                let Ok(Some(arrived)) = accepted else {
                    self.local.ledger().accept_failed();
                    break;
                };
                let _parked = admit(&self.local, &self.handler, arrived, true);
            }
        }
        found
    }

    fn abort(&mut self) {
        self.phase = Phase::Aborting;
        self.local.greeting.set(Greeting::Abort);
        self.last_call = None;
        self.local.office.close();
        self.local.registry().abort_all();
    }

    fn receive(&mut self, cx: &mut Context<'_>) {
        for opened in 0..BURST_MAX {
            let Poll::Ready(Some(parcel)) = self.mailbox.as_mut().poll_next(cx) else {
                return self.claim();
            };
            if opened == 0 {
                self.local.ledger().found_mail();
            }
            self.open(parcel);
        }
        cx.waker().wake_by_ref();
    }

    fn open(&mut self, parcel: Parcel<B::Socket>) {
        match parcel {
            Parcel::HandedOff { envelope, from } => {
                self.arrived(Arrival { envelope, route: Route::HandedOff { from } });
            }
            Parcel::Granted { waiter } => {
                let waited = B::now().saturating_duration_since(waiter.since);
                self.local.times().waited(waited);
                let route = Route::Queued { from: waiter.home, waited };
                self.arrived(Arrival { envelope: waiter.item, route });
            }
            Parcel::Refuse { envelope, refusal } => {
                refuse(&self.handler, envelope, refusal, &self.local);
            }
            Parcel::Resume => self.is_paused = false,
            Parcel::Call => {}
        }
    }

    /// Serves a connection that was sent here, with a permit.
    fn arrived(&self, arrival: Arrival<B::Socket>) {
        self.local.ledger().received();
        serve(&self.handler, arrival, &self.local);
    }

    /// Where workers claim who waits: looks whether somebody does.
    fn claim(&mut self) {
        while let Some(waiter) = self.local.office.claim(self.local.index) {
            self.open(Parcel::Granted { waiter });
        }
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
                self.accept_failed(index, &error, cx);
            }
        }
    }

    fn accept_burst(&mut self, index: usize, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.is_paused && self.listeners[index].poll_ready(cx)?.is_ready() {
            for accepted in 1..=BURST_MAX {
                let Some(arrived) = self.listeners[index].try_accept()? else { break };
                match admit(&self.local, &self.handler, arrived, false) {
                    Admitted::Settled => {}
                    Admitted::Queued => self.sweep = None, // its deadline may be sooner
                    Admitted::Pausing => {
                        // It may have got its permit at once: then the next parcel says so.
                        self.is_paused = true;
                        return Ok(());
                    }
                }
                if accepted == BURST_MAX {
                    cx.waker().wake_by_ref();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Out of descriptors or memory: tells some clients, and pauses.
    fn accept_failed(&mut self, index: usize, error: &io::Error, cx: &mut Context<'_>) {
        self.local.ledger().accept_failed();
        for _ in 0..SHED_MAX {
            let Ok(Some(_peer)) = self.listeners[index].shed() else { break };
            self.local.ledger().accepted_and_refused(Refusal::NoDescriptor);
        }
        if let Some(times) = self.troubles.report(B::now()) {
            let worker = self.local.index;
            log::guarded(
                || tracing::warn!(worker, %error, times, "cannot accept, so it pauses before it tries again"),
            );
        }
        let mut timer: Timer = Box::pin(B::sleep(pause(self.local.settings().workers())));
        if timer.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        self.backoff = Some(timer);
    }

    /// Looks over connections and limit.
    fn look_over(&mut self) {
        let now = B::now();
        self.local.registry().sweep(&self.local.settings().deadlines, now);
        if !self.upkeep.is_empty() {
            self.upkeep.sweep(now);
        }
        if let Some(controller) = &mut self.controller {
            let local = &*self.local;
            let (served, mean_service) = local.times().recently_served();
            let (limit, peak) = match local.settings().scope {
                Scope::Request => (local.requests.limit(), local.requests.take_peak()),
                Scope::Connection => {
                    let gate = local.board.gates.gate(local.index);
                    (gate.limit(), gate.taken())
                }
            };
            let next = controller.adjust(&Observed::new(limit, peak, served, mean_service));
            let next = next.clamp(1, local.settings().max_connections);
            if next != limit {
                local.set_limit(next);
            }
        }
    }

    fn sweep(&mut self, cx: &mut Context<'_>) {
        loop {
            let serving = matches!(self.phase, Phase::Serving);
            let is_needed = self.local.registry().len() > 0
                || !self.upkeep.is_empty()
                || self.local.board.waiting(self.local.index) > 0;
            if !is_needed || (serving && self.is_swept) {
                self.sweep = None;
                return;
            }
            let local = &*self.local;
            let timer = self.sweep.get_or_insert_with(|| {
                let interval = if serving { local.settings().sweep_interval() } else { PASS };
                let until_deadline =
                    local.office.next_deadline().map(|at| at.saturating_duration_since(B::now()));
                Box::pin(B::sleep(until_deadline.unwrap_or(interval).min(interval)))
            });
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.sweep = None;
            if !self.is_swept {
                self.local.office.expire(B::now());
                self.local.office.remove_gone();
            }
            self.look_over();
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
        ready!(self.close_when_quiet(cx));
        while let Some(listener) = self.listeners.last_mut() {
            ready!(listener.poll_close(cx));
            self.listeners.pop();
        }
        if self.local.registry().is_empty(cx) && self.local.board.gates.gate(self.local.index).try_close() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Accepts until nothing is queued for anybody. Ready when the listeners may be closed.
    fn close_when_quiet(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some((mut last_call, mut timer)) = self.last_call.take() {
            if timer.as_mut().poll(cx).is_pending() {
                self.last_call = Some((last_call, timer));
                return Poll::Pending;
            }
            let mut found = self.accept_queued();
            if found == 0 {
                // A kernel that does not tell has none as far as we know.
                let half_open = |listener: &mut B::Listener| listener.half_open().unwrap_or(0);
                found = self.listeners.iter_mut().map(half_open).sum();
            }
            self.local.registry().kick_all();
            let quiet = &self.local.board.quiet;
            let all_quiet = quiet.load(Ordering::Relaxed) >= self.local.settings().workers();
            match last_call.pass(found, all_quiet) {
                Step::Close => break,
                Step::Again => {}
                Step::Quiet => _ = quiet.fetch_add(1, Ordering::Relaxed),
            }
            self.last_call = Some((last_call, Box::pin(B::sleep(PASS))));
        }
        self.sweep(cx);
        Poll::Ready(())
    }
}
