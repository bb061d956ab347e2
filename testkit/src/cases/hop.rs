//! A connection that hops between runtimes while its peer streams in both directions.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use async_channel::{Receiver, Sender};
use corepool_core::backend::{Conn, Detached, SendBuf};
use corepool_os::StreamSocket;

use crate::bench::{ConnExt, attach, on, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{pair, start};

/// How often a connection changes its runtime.
const HOPS: usize = 100;

pub(super) fn between_threads<B: SocketBackend>() {
    travel([stay::<B>; 3]);
}

/// A connection hops 100 times between two backends in one process, and no byte is lost or changed.
///
/// # Panics
/// When one is, or when one of the backends cannot start.
pub fn between<A: SocketBackend, B: SocketBackend>() {
    travel([stay::<A>, stay::<B>, stay::<B>, stay::<A>]);
}

/// What hops.
struct Traveller {
    detached: Detached<StreamSocket>,
    /// What has been received, and therefore sent back.
    received: Pattern,
    hops_left: usize,
    arrived: Arc<AtomicBool>,
}

/// Stays on one runtime while travellers come, and passes them on.
type Stay = fn(Receiver<Traveller>, Sender<Traveller>);

fn travel<const STATIONS: usize>(stations: [Stay; STATIONS]) {
    let (socket, peer) = pair();
    let arrived = Arc::new(AtomicBool::new(false));
    let traveller = Traveller {
        detached: socket.into(),
        received: Pattern::default(),
        hops_left: HOPS,
        arrived: Arc::clone(&arrived),
    };
    let peer = peer.spawn(move |mut peer| peer.exchange_until(|| arrived.load(Ordering::Relaxed)));
    let ways: [_; STATIONS] = array::from_fn(|_| async_channel::bounded(1));
    ways[0].0.try_send(traveller).unwrap_or_else(|_full| unreachable!());
    let lives: Vec<_> = (0..STATIONS)
        .map(|here| {
            let (stay, from) = (stations[here], ways[here].1.clone());
            let to = ways[(here + 1) % STATIONS].0.clone();
            start(move || stay(from, to))
        })
        .collect();
    drop(ways);
    peer.join();
    for life in lives {
        life.join();
    }
}

fn stay<B: SocketBackend>(from: Receiver<Traveller>, to: Sender<Traveller>) {
    on::<B, _>(async || {
        while let Ok(traveller) = from.recv().await {
            match pass::<B>(traveller).await {
                Some(traveller) => to.send(traveller).await.unwrap_or_else(|_closed| unreachable!()),
                None => return, // and so does everybody else, since nobody comes any more
            }
        }
    });
}

/// Echoes a while and leaves in any state; at the end of the way echoes to the end.
async fn pass<B: SocketBackend>(mut traveller: Traveller) -> Option<Traveller> {
    let mut conn = attach::<B>(traveller.detached);
    for _ in 0..fastrand::usize(0..8) {
        let bytes = conn.recv().await.unwrap().unwrap();
        traveller.received.check(bytes.as_ref());
        conn.send(SendBuf::Loan(bytes)).await.unwrap();
    }
    if traveller.hops_left == 0 {
        traveller.arrived.store(true, Ordering::Relaxed);
        conn.echo().await.unwrap();
        conn.close().await;
        return None;
    }
    if fastrand::bool()
        && let Poll::Ready(bytes) = conn.recv_once().await
    {
        let bytes = bytes.unwrap().unwrap();
        traveller.received.check(bytes.as_ref());
        conn.start_send(SendBuf::Loan(bytes));
    }
    if fastrand::bool() {
        turn::<B>().await;
    }
    traveller.detached = conn.detach().await.unwrap();
    traveller.hops_left -= 1;
    Some(traveller)
}
