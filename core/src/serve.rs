//! The task of one connection: attach, run the handler, contain its panics, close, count.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;

use futures_util::future::select;

use crate::backend::{Backend, Conn, Detached, Socket};
use crate::close::close;
use crate::config::Scope;
use crate::connection::{Connection, Route};
use crate::contain::contain;
use crate::deadlines::Passed;
use crate::entry::{Cut, Entry};
use crate::handler::Handler;
use crate::ledger::{End, Refusal};
use crate::local::{Arrival, Local, Permit};
use crate::log;
use crate::mail::Envelope;
use crate::overflow::Reject;

/// How many connections a worker refuses with a reply, or politely, at a time.
const REFUSING_MAX: usize = 256;

/// Takes a connection into its worker's runtime and spawns its task.
pub(crate) fn serve<B: Backend, H: Handler<B>>(
    handler: &Rc<H>,
    arrival: Arrival<B::Socket>,
    local: &Rc<Local<B>>,
) {
    let Arrival { envelope: Envelope { socket, peer, client }, route } = arrival;
    let permit = Permit::adopt(local, client);
    let requests_only = local.settings().scope == Scope::Request;
    let entry = match B::Conn::attach(Detached::from(socket)) {
        Ok(io) => Rc::new(Entry::new(io, requests_only)),
        Err(error) => {
            log::guarded(
                || tracing::warn!(worker = local.index, %peer, %error, "cannot attach a connection"),
            );
            return local.ledger().attach_failed();
        }
    };
    local.open(Rc::clone(&entry));
    let connection = Connection::new(Rc::clone(&entry), peer, route, Rc::clone(local));
    B::spawn_local(task(Rc::clone(handler), connection, entry, permit));
}

async fn task<B: Backend, H: Handler<B>>(
    handler: Rc<H>,
    connection: Connection<B>,
    entry: Rc<Entry<B>>,
    permit: Permit<B>,
) {
    let peer = connection.peer_addr();
    // The call is inside the future: a `serve` that panics before it returns one is contained too.
    let serving = pin!(Some(async move { handler.serve(connection).await }));
    let end = run(&entry, peer, serving).await;
    if matches!(end, End::Panicked | End::Aborted) {
        entry.broken.set(true);
    }
    if entry.was_cut() == Some(Cut::TimedOut(Passed::Send)) {
        // Whoever does not read will not read a goodbye. What is unsent must not linger in the kernel.
        entry.broken.set(true);
        let _ = entry.io.borrow().reset_on_close();
    }
    close(&entry, permit.local().settings().linger).await;
    permit.local().close(&entry, end);
}

/// Refuses a connection in the way that the policy says; politely while the server drains, so that whoever
/// connected in time sees the end of the stream and not a reset.
pub(crate) fn refuse<B: Backend, H: Handler<B>>(
    handler: &Rc<H>,
    envelope: Envelope<B::Socket>,
    refusal: Refusal,
    local: &Rc<Local<B>>,
) {
    let rejection = local.settings().overflow.rejection();
    let politely = refusal == Refusal::Draining || rejection == Reject::Reply;
    if !politely || local.refusing() >= REFUSING_MAX {
        match rejection {
            Reject::Reset => envelope.socket.reset(),
            Reject::Close | Reject::Reply => drop(envelope),
        }
        return;
    }
    let Envelope { socket, peer, client: _uncounted } = envelope;
    let Ok(io) = B::Conn::attach(Detached::from(socket)) else { return };
    let entry = Rc::new(Entry::new(io, false));
    local.registry().insert(Rc::clone(&entry));
    let (handler, local) = (Rc::clone(handler), Rc::clone(local));
    B::spawn_local(async move {
        if rejection == Reject::Reply {
            let connection = Connection::new(Rc::clone(&entry), peer, Route::Local, Rc::clone(&local));
            let linger = B::sleep(local.settings().linger);
            // A handler that takes longer to refuse than a goodbye may take is dropped.
            let reply = pin!(Some(async move {
                select(pin!(handler.refuse(connection, refusal)), pin!(linger)).await;
                Ok(())
            }));
            if run(&entry, peer, reply).await == End::Panicked {
                entry.broken.set(true);
            }
        }
        close(&entry, local.settings().linger).await;
        local.registry().remove(&entry);
    });
}

/// Runs the handler to its end, whatever that is. When this returns, nothing of the handler's future is left.
async fn run<B: Backend>(
    entry: &Entry<B>,
    peer: SocketAddr,
    mut future: Pin<&mut Option<impl Future<Output = io::Result<()>>>>,
) -> End {
    let end = poll_fn(|cx| {
        entry.remember_task(cx);
        if let Some(cut) = entry.was_cut() {
            return Poll::Ready(match cut {
                Cut::Aborted => End::Aborted,
                Cut::TimedOut(_) => End::TimedOut,
            });
        }
        let Some(serving) = future.as_mut().as_pin_mut() else { return Poll::Ready(End::Completed) };
        match contain(|| serving.poll(cx)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(Ok(()))) => Poll::Ready(End::Completed),
            Some(Poll::Ready(Err(error))) => {
                log::guarded(|| tracing::debug!(%peer, %error, "a handler failed"));
                Poll::Ready(End::Failed)
            }
            None => Poll::Ready(End::Panicked),
        }
    })
    .await;
    match contain(|| future.set(None)) {
        Some(()) => end,
        None => End::Panicked,
    }
}
