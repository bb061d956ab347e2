//! Requests: what a permit is for under `Scope::Request`.
//!
//! The handler marks where a request begins, and drops the [`Request`] where it ends. Between requests a
//! connection has no permit: a thousand clients take turns with eight.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::admission::Ticket;
use crate::backend::Backend;
use crate::config::Scope;
use crate::connection::Connection;
use crate::entry::Entry;
use crate::ledger::{Asked, Refusal, Waited};
use crate::local::Local;
use crate::overflow::{Situation, Subject, Verdict};

/// A request that is being served. Dropping it ends the request, and gives its permit back.
///
/// A permit is for the work. That the kernel takes the reply need not be waited for with one: a send begins with its
/// call, so the request may end before the send does. Then a client that does not read holds no permit either, and on
/// `io_uring`, where a send ends a turn of the loop later, few permits serve as many requests as many do.
///
/// ```
/// use std::io;
/// use corepool_core::{Backend, Connection, Handler};
///
/// struct Echo;
///
/// impl<B: Backend> Handler<B> for Echo {
///     async fn serve(&self, mut conn: Connection<B>) -> io::Result<()> {
///         while let Some(request) = conn.request().await? {
///             let Some(chunk) = conn.recv().await? else { break };
///             let sent = conn.send(chunk);
///             drop(request);
///             sent.await?;
///         }
///         Ok(())
///     }
/// }
/// ```
#[must_use = "the request ends when it is dropped"]
pub struct Request<B: Backend> {
    local: Rc<Local<B>>,
    entry: Rc<Entry<B>>,
    /// When it got its permit; `None` under `Scope::Connection`, where it needs none.
    since: Option<Instant>,
}

impl<B: Backend> Connection<B> {
    /// Waits for the next request: until its first byte has arrived, and a permit of this worker is free. `None`
    /// when the peer has finished, or the server drains.
    ///
    /// The request ends when what this returns is dropped: best when the reply has begun, before it is flushed, as
    /// [`Request`] shows.
    ///
    /// Under `Scope::Connection` there is nothing to wait for but the byte, so that one handler serves both. Of the
    /// requests that wait for a permit, the first 256 of a worker may hold what has arrived, in a receive buffer; the
    /// others leave it in the socket.
    ///
    /// # Errors
    /// What the socket reports. A [`Refusal`] inside an error of kind `WouldBlock`: the overflow policy does not
    /// let it wait, or not for longer; the connection goes on, and nothing of the request has been received yet.
    /// An error when the last request has not ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: neither bytes nor, to others, the place in line.
    pub async fn request(&mut self) -> io::Result<Option<Request<B>>> {
        if self.duplex.entry.request.is_open() {
            return Err(io::Error::other("the last request has not ended"));
        }
        let (local, entry) = (&self.local, &self.duplex.entry);
        if !poll_fn(|cx| poll_first(local, entry, cx)).await? {
            return Ok(None);
        }
        let request = begin(local, entry).await?;
        // Readiness may have been the end of the stream.
        let arrived = poll_fn(|cx| poll_arrived(entry, cx)).await?;
        Ok(arrived.then_some(request))
    }
}

/// How many requests of a worker may wait with the bytes that they have begun with. To leave those in the socket costs
/// one more operation on a ring, up to a fifth of a small request; so a few may be taken, and then no more.
const WAITING_WITH_BYTES_MAX: usize = 256;

/// Waits for the first byte of a request, and leaves it there if too many wait for a permit; `false` at the end of
/// the stream.
fn poll_first<B: Backend>(
    local: &Local<B>,
    entry: &Entry<B>,
    cx: &mut Context<'_>,
) -> Poll<io::Result<bool>> {
    let is_counted = local.settings().scope == Scope::Request;
    let too_many_wait = is_counted && local.requests.waiting() >= WAITING_WITH_BYTES_MAX;
    if too_many_wait && !entry.kicked.get() && !entry.request.has_first() {
        let io = &mut *entry.io.borrow_mut();
        entry.drive_unsent(io, cx);
        return entry.poll_readable(io, cx).map_ok(|()| true);
    }
    poll_arrived(entry, cx)
}

/// Receives the first bytes of a request, and keeps them for whoever receives next; `false` at the end of the
/// stream.
fn poll_arrived<B: Backend>(entry: &Entry<B>, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
    if entry.request.has_first() {
        return Poll::Ready(Ok(true));
    }
    let io = &mut *entry.io.borrow_mut();
    entry.drive_unsent(io, cx);
    let first = ready!(entry.poll_recv_anyway(io, cx))?;
    let arrived = first.is_some();
    entry.request.first.replace(first);
    entry.look_again();
    Poll::Ready(Ok(arrived))
}

/// Gets a permit, if one is needed.
async fn begin<B: Backend>(local: &Rc<Local<B>>, entry: &Rc<Entry<B>>) -> io::Result<Request<B>> {
    let request = |since| {
        entry.request.open();
        entry.look_again();
        Request { local: Rc::clone(local), entry: Rc::clone(entry), since }
    };
    if local.settings().scope == Scope::Connection {
        return Ok(request(None));
    }
    if local.requests.try_take() {
        local.asked(Asked::Immediate);
        return Ok(request(Some(B::now())));
    }
    let situation = Situation::new(Subject::Request, local.index, local.requests.taken());
    match local.settings().overflow.when_full(&situation) {
        Verdict::Reject => {
            local.asked(Asked::Refused);
            return Err(refused(Refusal::Full));
        }
        Verdict::Serve => {
            local.requests.force_take();
            local.asked(Asked::Over);
        }
        Verdict::Wait(limit) => wait(local, Some(limit)).await?,
        Verdict::Pause => wait(local, None).await?,
    }
    Ok(request(Some(B::now())))
}

/// Waits for a permit, at most so long. Only who has to wait pays for a timer.
async fn wait<B: Backend>(local: &Rc<Local<B>>, limit: Option<Duration>) -> io::Result<()> {
    let since = B::now();
    let mut place = InLine { local, ticket: Some(local.requests.ask()) };
    local.asked(Asked::Enqueued);
    let mut timer = pin!(async move {
        match limit {
            Some(limit) => B::sleep(limit).await,
            None => std::future::pending().await,
        }
    });
    let granted = poll_fn(|cx| match place.poll_granted(cx) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending => timer.as_mut().poll(cx).map(|()| false),
    })
    .await;
    if granted {
        local.times().waited(B::now().duration_since(since));
        return Ok(());
    }
    let served = local.settings().overflow.serves_expired();
    place.leave(if served { Waited::GrantedOver } else { Waited::Expired });
    if served {
        local.times().waited(B::now().duration_since(since));
        return Ok(());
    }
    Err(refused(Refusal::Expired))
}

fn refused(refusal: Refusal) -> io::Error {
    io::Error::new(io::ErrorKind::WouldBlock, refusal)
}

/// A place in the line of requests, given up when it is dropped.
struct InLine<'a, B: Backend> {
    local: &'a Local<B>,
    ticket: Option<Ticket>,
}

impl<B: Backend> InLine<'_, B> {
    fn poll_granted(&mut self, cx: &Context<'_>) -> Poll<()> {
        if let Some(ticket) = self.ticket {
            ready!(self.local.requests.poll_granted(ticket, cx));
            self.ticket = None;
            self.local.waited(Waited::Granted);
        }
        Poll::Ready(())
    }

    fn leave(&mut self, how: Waited) {
        let Some(ticket) = self.ticket.take() else { return };
        if how == Waited::GrantedOver {
            self.local.requests.force_take();
        }
        self.local.requests.give_up(ticket);
        self.local.waited(how);
    }
}

impl<B: Backend> Drop for InLine<'_, B> {
    fn drop(&mut self) {
        self.leave(Waited::Gone);
    }
}

impl<B: Backend> Drop for Request<B> {
    fn drop(&mut self) {
        self.entry.request.close();
        self.entry.look_again();
        if let Some(since) = self.since {
            self.local.end_request(B::now().duration_since(since));
        }
    }
}

impl<B: Backend> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("since", &self.since).finish_non_exhaustive()
    }
}

/// What requests have to do with one connection.
pub(crate) struct RequestState<L> {
    /// Nothing is received but within a request.
    is_needed: bool,
    is_open: Cell<bool>,
    /// One has begun since the last sweep.
    pub(crate) began: Cell<bool>,
    /// The first bytes of a request, which nobody has received yet.
    first: RefCell<Option<L>>,
}

impl<L> RequestState<L> {
    pub(crate) fn new(is_needed: bool) -> Self {
        Self { is_needed, is_open: Cell::new(false), began: Cell::new(false), first: RefCell::new(None) }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Whether something is received without a request that is needed.
    pub(crate) fn is_missing(&self) -> bool {
        self.is_needed && !self.is_open.get()
    }

    /// Whether the next receive has to look here.
    pub(crate) fn is_special(&self) -> bool {
        self.is_missing() || self.has_first()
    }

    fn has_first(&self) -> bool {
        self.first.borrow().is_some()
    }

    /// The first bytes, if they have not been received yet.
    pub(crate) fn take_first(&self) -> Option<L> {
        self.first.take()
    }

    fn open(&self) {
        self.is_open.set(true);
        self.began.set(true);
    }

    fn close(&self) {
        self.is_open.set(false);
    }
}

/// The error of a handler that never asks for a request under `Scope::Request`.
#[derive(Debug, thiserror::Error)]
#[error("permits are per request here, and the handler has not asked for one: Connection::request begins it")]
pub(crate) struct RequestMissing;
