//! Futures that are dropped half way, as by a `select!` or a timeout: no byte is lost.

use std::future::ready;

use async_channel::Receiver;

use crate::bench::{ConnExt, attach, on, race, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{Trickle, pair, start};

/// How many futures are dropped while they wait.
const DROPS: usize = 5000;

pub(super) fn receives_dropped_while_bytes_arrive<B: SocketBackend>() {
    stream::<B>(async |conn, received, ticks| receive::<B>(conn, received, ticks).await);
}

pub(super) fn waits_and_receives_dropped_in_turn<B: SocketBackend>() {
    stream::<B>(async |conn, received, ticks| {
        if fastrand::bool() {
            return receive::<B>(conn, received, ticks).await;
        }
        let ready = dropped_sometimes::<B, _>(conn.readable(), ticks).await;
        ready.map(Result::unwrap).is_some()
    });
}

/// Streams through steps that tell whether a future of theirs came to its end, until enough have not.
fn stream<B: SocketBackend>(step: impl AsyncFn(&mut B::Conn, &mut Pattern, &Receiver<()>) -> bool) {
    let (socket, peer) = pair();
    let mut trickle = Trickle::start(peer);
    let (tick, ticks) = async_channel::bounded(1);
    let ticker = start(move || while tick.send_blocking(()).is_ok() {});
    let life = on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let mut received = Pattern::default();
        let mut drops = 0;
        while drops < DROPS {
            trickle.demand(received.position());
            drops += usize::from(!step(&mut conn, &mut received, &ticks).await);
        }
        let (sent, life) = trickle.end();
        conn.expect_end(&mut received).await;
        assert_eq!(received.position(), sent);
        conn.close().await;
        life
    });
    drop(ticks);
    ticker.join();
    life.join();
}

async fn receive<B: SocketBackend>(conn: &mut B::Conn, received: &mut Pattern, ticks: &Receiver<()>) -> bool {
    let bytes = dropped_sometimes::<B, _>(conn.recv(), ticks).await;
    bytes.map(|bytes| received.check(bytes.unwrap().unwrap().as_ref())).is_some()
}

/// Drops a future that waits: at once, after a turn of the runtime, or when another thread says so.
async fn dropped_sometimes<B: SocketBackend, F: Future>(
    future: F,
    ticks: &Receiver<()>,
) -> Option<F::Output> {
    match fastrand::u8(0..3) {
        0 => race(future, ready(())).await.ok(),
        1 => race(future, turn::<B>()).await.ok(),
        _ => race(future, ticks.recv()).await.ok(),
    }
}
