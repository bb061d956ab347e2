//! The worker: one future that accepts, receives what others send it, sweeps, and winds down.
//!
//! A thin loop of I/O round decisions made elsewhere. Several workers can run on one thread, in simulation.

mod accept;
mod drain;
mod receive;
mod sweep;

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_channel::Receiver;
use futures_util::Stream;

use self::drain::Phase;
use crate::accepting::Troubles;
use crate::admission::limit::Controller;
use crate::backend::{Backend, BoundOf, Listener};
use crate::closing;
use crate::contain::contain;
use crate::handler::{Handler, WorkerInfo};
use crate::last_call::LastCall;
use crate::local::Local;
use crate::log;
use crate::mail::{Parcel, PostOffice};
use crate::runtime::Runtime;
use crate::shared::{Board, Command};
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
}
