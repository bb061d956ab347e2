//! Connections that wait for a permit.

use std::time::{Duration, Instant};

use corepool_core::handoff::{NoHandoff, SharedQueue};
use corepool_core::overflow::{Pause, Queue, Then};
use corepool_core::{Config, Placement};

use crate::handlers::{Echo, Sleeper};
use crate::harness::SocketBackend;
use crate::peer::{Peer, TOO_MUCH, start};
use crate::served::{Served, config, serve};

/// Longer than any case takes.
const LONG: Duration = Duration::from_secs(3600);

fn queue(workers: usize, limit: u32, deadline: Duration) -> Config {
    config(workers).limit(limit).overflow(Queue::new(64, deadline))
}

/// A client that is served.
fn served(server: &Served) -> Peer {
    let mut peer = server.connect();
    peer.exchange(10);
    peer
}

/// Clients that wait, in this order.
fn waiting(server: &Served, count: usize) -> Vec<Peer> {
    let before = server.stats().waiting();
    let line_up = |index| {
        let mut peer = server.connect();
        peer.send(10);
        server.until(|stats| stats.waiting() == before + index + 1);
        peer
    };
    (0..count as u64).map(line_up).collect()
}

pub(super) fn first_come_first_served<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(1, 1, LONG), Echo);
    let first = served(&server);
    let waiting = waiting(&server, 5);
    drop(first);
    // Whoever is served holds the only permit until it leaves: another order would never end.
    for mut next in waiting {
        next.expect(10);
        next.exchange(1000);
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.enqueued), 5);
    assert_eq!(stats.workers[0].times.queue_wait.count, 5);
}

pub(super) fn a_permit_of_any_worker_serves_whoever_has_waited_longest<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(3, 1, LONG).placement(Placement::Even { slack: 0 }), Echo);
    let mut holders: Vec<_> = (0..3).map(|_| served(&server)).collect();
    let waiting = waiting(&server, 6);
    for mut next in waiting {
        drop(holders.remove(0));
        next.expect(10);
        holders.push(next);
    }
    drop(holders);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.granted()), 6);
    assert!(stats.matrix().iter().flatten().sum::<u64>() == 9, "{stats}");
}

/// actix-net#951, ntex#911: the limit was reached, a slot became free, nobody was woken.
pub(super) fn lost_wake_at_the_limit<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(1, 1, LONG), Echo);
    let mut holder = served(&server);
    for _ in 0..10_000 {
        // It is being parked while the slot becomes free.
        let mut next = server.connect();
        next.send(1);
        drop(holder);
        next.expect(1);
        holder = next;
    }
    drop(holder);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 10_001);
}

pub(super) fn the_deadline_passes_although_no_permit_is_ever_free<B: SocketBackend>() {
    let deadline = Duration::from_millis(100);
    let server = serve::<B, _>(&queue(1, 1, deadline), Sleeper);
    let _holder = server.connect();
    server.until(|stats| stats.active() == 1);
    for round in 1..=3 {
        let begun = Instant::now();
        server.connect().expect_over();
        assert!(begun.elapsed() >= deadline, "too soon");
        server.until(|stats| stats.total(|counts| counts.expired) == round);
    }
    server.handle().abort();
    server.join();
}

pub(super) fn after_the_deadline_it_may_be_served_over_the_limit<B: SocketBackend>() {
    let queue = Queue::new(8, Duration::from_millis(50)).then(Then::ServeAnyway);
    let server = serve::<B, _>(&config(1).limit(1).overflow(queue), Echo);
    let mut holder = served(&server);
    let mut late = served(&server);
    holder.exchange(10);
    late.exchange(10);
    drop((holder, late));
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.granted_over), 1);
}

pub(super) fn a_full_queue_turns_away<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).limit(1).overflow(Queue::new(2, LONG)), Echo);
    let holder = served(&server);
    let mut waiting = waiting(&server, 2);
    server.connect().expect_over();
    drop(holder);
    for mut next in waiting.drain(..) {
        next.expect(10);
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.refused_full), 1);
}

pub(super) fn who_leaves_while_waiting_is_forgotten_and_who_asked_keeps_the_place<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(1, 1, LONG), Echo);
    let holder = served(&server);
    let silent = server.connect();
    let reset = server.connect();
    let mut patient = server.connect();
    server.until(|stats| stats.waiting() == 3);
    // As `printf x | nc -N` does.
    patient.send(7);
    patient.half_close();
    drop(silent);
    reset.reset();
    server.until(|stats| stats.total(|counts| counts.gone) == 2);
    assert_eq!(server.stats().waiting(), 1);
    drop(holder);
    assert_eq!(patient.expect_end(), 7);
    server.end();
}

pub(super) fn a_paused_server_accepts_when_there_is_room<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).limit(2).overflow(Pause), Echo);
    let address = server.address();
    let clients = (0..16).map(|_| {
        start(move || {
            for _ in 0..25 {
                let mut peer = Peer::connect(address);
                peer.exchange(100);
                peer.half_close();
                peer.expect_end();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 400);
    assert_eq!(stats.total(|counts| counts.refused()), 0);
}

pub(super) fn those_who_wait_at_a_shutdown_are_served<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(2, 1, LONG).grace(LONG), Echo);
    let mut holders = [served(&server), served(&server)];
    let waiting = waiting(&server, 6);
    server.handle().shutdown();
    for holder in &mut holders {
        holder.expect_end();
    }
    for mut next in waiting {
        assert_eq!(next.expect_end(), 10);
    }
    let stats = server.join();
    assert_eq!(stats.total(|counts| counts.completed), 8);
}

pub(super) fn those_who_wait_at_an_abort_are_told<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(1, 1, LONG), Sleeper);
    let _holder = server.connect();
    server.until(|stats| stats.active() == 1);
    let waiting = waiting(&server, 3);
    server.handle().abort();
    for mut next in waiting {
        next.expect_over();
    }
    let stats = server.join();
    assert_eq!(stats.total(|counts| counts.drained), 3);
}

pub(super) fn where_workers_claim_everybody_is_served<B: SocketBackend>() {
    come_and_go::<B>(&queue(2, 2, LONG).handoff(SharedQueue));
}

pub(super) fn without_a_handoff_everybody_is_served_at_home<B: SocketBackend>() {
    let stats = come_and_go::<B>(&queue(2, 2, LONG).handoff(NoHandoff));
    assert_eq!((stats[0][1], stats[1][0]), (0, 0), "{stats:?}");
}

/// More clients than permits, who come and go; the handoff matrix at the end.
fn come_and_go<B: SocketBackend>(config: &Config) -> Vec<Vec<u64>> {
    let server = serve::<B, _>(config, Echo);
    let address = server.address();
    let clients = (0..16).map(|_| {
        start(move || {
            for _ in 0..50 {
                let mut peer = Peer::connect(address);
                peer.exchange(100);
                peer.half_close();
                peer.expect_end();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    let settled = server.handle().settled(Duration::from_secs(20)).unwrap();
    assert_eq!(settled.total(|counts| counts.completed), 800);
    server.end().matrix()
}

pub(super) fn who_waits_takes_no_memory_for_what_it_sends<B: SocketBackend>() {
    let server = serve::<B, _>(&queue(1, 1, LONG), Echo);
    let holder = served(&server);
    let mut eager = server.connect();
    let taken = eager.send_until_stuck(TOO_MUCH, Duration::from_millis(500));
    assert!(taken < TOO_MUCH, "somebody reads from who waits");
    server.until(|stats| stats.waiting() == 1);
    drop(holder);
    let life = eager.spawn(move |mut peer| peer.expect(taken));
    life.join();
    server.end();
}
