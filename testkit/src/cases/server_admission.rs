//! Limits, and who serves what.

use std::io;

use corepool_core::overflow::{Reject, ServeAnyway};
use corepool_core::{Backend, Connection, Handler, Placement, Route};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{Peer, start};
use crate::served::{Served, config, serve};

pub(super) fn a_full_server_rejects_until_it_has_room_again<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).limit(2).overflow(Reject::Close), Echo);
    for round in 1..=20 {
        let mut served: Vec<_> = (0..4).map(|_| server.connect()).collect();
        for peer in &mut served {
            peer.exchange(100);
        }
        server.connect().expect_over();
        assert_eq!(server.stats().total(|counts| counts.refused_full), round);
        drop(served);
        server.until(|stats| stats.workers.iter().all(|worker| worker.taken == 0));
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 80);
}

pub(super) fn one_that_leaves_makes_room_for_one<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).limit(2), Echo);
    let mut peers = vec![server.connect(), server.connect()];
    for _ in 0..200 {
        let mut left = peers.remove(0);
        left.exchange(1);
        left.half_close();
        left.expect_end();
        server.until(|stats| stats.active() < 2);
        peers.push(server.connect());
        peers[1].exchange(1);
    }
    drop(peers);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.refused()), 0);
}

pub(super) fn a_full_server_may_serve_over_its_limit<B: SocketBackend>() {
    let config = config(1).limit(1).max_connections(3).overflow(ServeAnyway);
    let server = serve::<B, _>(&config, Informer);
    let mut peers = [server.connect(), server.connect(), server.connect()];
    assert_eq!(peers.each_mut().map(|peer| peer.ask(b'?')), [[0, LOCAL], [0, OVER_LIMIT], [0, OVER_LIMIT]]);
    server.connect().expect_over();
    drop(peers);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.over_limit), 2);
    assert_eq!(stats.total(|counts| counts.refused_max_connections), 1);
}

pub(super) fn a_full_worker_hands_over_to_one_with_room<B: SocketBackend>() {
    let server = serve::<B, _>(&config(4).limit(5), Informer);
    assert_eq!(loads(&server, 20), [5, 5, 5, 5]);
    server.end();
}

pub(super) fn placed_evenly_few_connections_go_one_to_each_worker<B: SocketBackend>() {
    let server = serve::<B, _>(&config(4).placement(Placement::Even { slack: 0 }), Informer);
    for _ in 0..50 {
        assert_eq!(loads(&server, 4), [1, 1, 1, 1]);
        server.until(|stats| stats.workers.iter().all(|worker| worker.taken == 0));
    }
    server.end();
}

pub(super) fn placed_in_turn_each_worker_gets_as_many<B: SocketBackend>() {
    let server = serve::<B, _>(&config(3).placement(Placement::RoundRobin), Informer);
    assert_eq!(loads(&server, 30), [10, 10, 10, 0]);
    server.end();
}

pub(super) fn placed_elsewhere_every_connection_is_handed_over<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).placement(Placement::AlwaysOther), Informer);
    let mut peers: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for peer in &mut peers {
        let [_worker, route] = peer.ask(b'?');
        assert_eq!(route, HANDED_OFF);
    }
    drop(peers);
    let stats = server.end();
    let [first, second] = [0, 1].map(|worker| &stats.workers[worker].counts);
    assert_eq!((first.handed_to[1], second.handed_to[0]), (second.received, first.received));
}

pub(super) fn a_burst_of_many_short_connections_is_counted_exactly<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).placement(Placement::Even { slack: 0 }), Echo);
    let address = server.address();
    let clients = (0..2).map(|_| {
        start(move || {
            for _ in 0..1000 {
                let mut peer = Peer::connect(address);
                peer.exchange(1);
                peer.half_close();
                peer.expect_end();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 2000);
}

/// Opens so many connections at once, and asks each who serves it: the load of each of up to four workers.
fn loads(server: &Served, connections: usize) -> [usize; 4] {
    let mut peers: Vec<_> = (0..connections).map(|_| server.connect()).collect();
    let mut loads = [0; 4];
    for peer in &mut peers {
        let [worker, _route] = peer.ask(b'?');
        loads[usize::from(worker)] += 1;
    }
    loads
}

const LOCAL: u8 = 0;
const HANDED_OFF: u8 = 1;
const OVER_LIMIT: u8 = 2;

/// Answers every question with the worker that serves it and how the connection came there.
#[derive(Debug, Clone, Copy)]
struct Informer;

impl<B: Backend> Handler<B> for Informer {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(_question) = connection.recv().await? {
            let route = match connection.route() {
                Route::Local => LOCAL,
                Route::HandedOff { .. } => HANDED_OFF,
                _ => OVER_LIMIT,
            };
            let worker = u8::try_from(connection.worker()).unwrap();
            connection.send(vec![worker, route]).await?;
        }
        Ok(())
    }
}
