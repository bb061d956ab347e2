//! Bugs that other servers have shipped, each a case that carries its name. Others of them are where their subject is:
//! `lost_wake_at_the_limit`, `header_timeout_inert_without_a_timer`, `backlog_lost_at_stop`.

use std::cell::Cell;
use std::io;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use corepool_core::{Backend, Connection, Handler, Placement, WorkerInfo};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::served::{config, serve, serve_with};

/// seastar#3514: counts of closed connections came late, and one shard got three times its part.
pub(super) fn stale_close_accounting<B: SocketBackend>() {
    const ROUNDS: usize = 2500;
    let server = serve::<B, _>(&config(2).placement(Placement::Even { slack: 0 }), Echo);
    for _ in 0..ROUNDS {
        // All are open at once, and no permit of the last round is left. Without that, a worker on a busy core gets more,
        // whatever it counts: what waits in its backlog is counted by nobody.
        let mut peers = [(); 4].map(|()| server.connect());
        for peer in &mut peers {
            peer.exchange(1);
        }
        for peer in &mut peers {
            peer.half_close();
            peer.expect_end();
        }
        server.until(|stats| stats.workers.iter().all(|worker| worker.taken == 0));
    }
    let stats = server.end();
    let [one, two] = [0, 1].map(|worker| stats.workers[worker].counts.started);
    assert_eq!(one + two, 4 * ROUNDS as u64);
    assert!(one.abs_diff(two) < (one + two) / 20, "{one} and {two}");
}

/// envoy#15146: the balance was taken down before the handover was done, and became 1:31.
pub(super) fn decrement_before_the_handover_is_done<B: SocketBackend>() {
    let server = serve::<B, _>(&config(4).placement(Placement::Even { slack: 0 }), Echo);
    let mut peers: Vec<_> = (0..32).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.exchange(1);
    }
    let active: Vec<_> = server.stats().workers.iter().map(|worker| worker.active).collect();
    assert_eq!(active, [8; 4]);
    drop(peers);
    server.end();
}

/// dragonfly#1026: a burst all went to the same "least loaded" core, since nothing was counted before it started.
pub(super) fn counted_at_start_not_at_pick<B: SocketBackend>() {
    let server = serve::<B, _>(&config(4).limit(8), Echo);
    let mut peers: Vec<_> = (0..32).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.exchange(1);
    }
    let active: Vec<_> = server.stats().workers.iter().map(|worker| worker.active).collect();
    assert_eq!(active, [8; 4], "a worker was given more than its limit, or less than its part");
    drop(peers);
    server.end();
}

thread_local! {
    static HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Answers whether it is on the thread that it was made on, and whether what that thread remembers is its own.
struct Placed {
    thread: ThreadId,
    worker: usize,
}

impl<B: Backend> Handler<B> for Placed {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while connection.recv().await?.is_some() {
            let is_here = thread::current().id() == self.thread;
            let is_its = HERE.get() == Some(self.worker) && connection.worker() == self.worker;
            connection.send(vec![u8::from(is_here && is_its)]).await?;
        }
        Ok(())
    }
}

/// dragonfly#2237: state of the old core was used on the new one.
pub(super) fn thread_local_cached_across_a_move<B: SocketBackend>() {
    let server = serve_with::<B, _>(&config(3).placement(Placement::AlwaysOther), |worker: &WorkerInfo| {
        HERE.set(Some(worker.index));
        Placed { thread: thread::current().id(), worker: worker.index }
    });
    for _ in 0..50 {
        assert_eq!(server.connect().ask::<1>(b'?'), [1]);
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.handed_off()), 50);
}

/// hyper#3576, #2787, mold#1582: a thousand connections that kept alive held the shutdown up for ever.
pub(super) fn idle_keep_alive_blocks_the_drain<B: SocketBackend>() {
    let grace = Duration::from_secs(20);
    let server = serve::<B, _>(&config(2).grace(grace), Echo);
    let mut peers: Vec<_> = (0..1000).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.exchange(1);
    }
    let begun = Instant::now();
    let stats = server.end();
    assert!(begun.elapsed() < grace + Duration::from_secs(1));
    // They ended by themselves, and were not aborted.
    assert_eq!(stats.total(|counts| counts.completed), 1000);
    for peer in &mut peers {
        peer.expect_end();
    }
}
