//! The task of one connection: attach, run the handler, contain its panics, close, count.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crate::backend::{Backend, Conn, Detached};
use crate::close::close;
use crate::connection::Connection;
use crate::contain::contain;
use crate::entry::Entry;
use crate::handler::Handler;
use crate::ledger::End;
use crate::local::{Arrival, Permit};
use crate::log;

/// Takes a connection into its worker's runtime and spawns its task.
pub(crate) fn serve<B: Backend, H: Handler<B>>(
    handler: &Rc<H>,
    arrival: Arrival<B::Socket>,
    permit: Permit<B>,
) {
    let local = permit.local();
    let io = match B::Conn::attach(Detached::from(arrival.socket)) {
        Ok(io) => io,
        Err(error) => {
            log::guarded(
                || tracing::warn!(worker = local.index, peer = %arrival.peer, %error, "cannot attach a connection"),
            );
            local.ledger().attach_failed();
            return;
        }
    };
    let entry = Rc::new(Entry::new(io));
    local.open(Rc::clone(&entry));
    let connection = Connection::new(Rc::clone(&entry), arrival.peer, arrival.route, local.index);
    B::spawn_local(task(Rc::clone(handler), connection, entry, permit));
}

async fn task<B: Backend, H: Handler<B>>(
    handler: Rc<H>,
    connection: Connection<B>,
    entry: Rc<Entry<B>>,
    permit: Permit<B>,
) {
    let end = run(&*handler, connection, &entry).await;
    if matches!(end, End::Panicked | End::Aborted) {
        entry.broken.set(true);
    }
    close(&entry, permit.local().linger).await;
    permit.local().close(&entry, end);
}

/// Runs the handler to its end, whatever that is. When this returns, nothing of the handler's future is left.
async fn run<B: Backend, H: Handler<B>>(handler: &H, connection: Connection<B>, entry: &Entry<B>) -> End {
    let peer = connection.peer_addr();
    // The call is inside the future: a `serve` that panics before it returns one is contained too.
    let mut future = pin!(Some(async move { handler.serve(connection).await }));
    let end = poll_fn(|cx| {
        entry.remember_task(cx);
        if entry.is_aborted() {
            return Poll::Ready(End::Aborted);
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
