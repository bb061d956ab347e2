//! A whole server, and peers that look at every byte.

use std::net::{SocketAddr, TcpListener};

use corepool_core::{Config, Placement};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{LOOPBACK, Peer, start};
use crate::served::{config, serve};

pub(super) fn to_many_clients_at_once<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2), Echo);
    let clients: Vec<_> = (0..40)
        .map(|client| {
            server.connect().spawn(move |mut peer| {
                for size in [1, 512, 16 << 10, 100_000] {
                    for _ in 0..1 + client % 7 {
                        peer.exchange(size);
                    }
                }
                peer.half_close();
                peer.expect_end();
            })
        })
        .collect();
    for client in clients {
        client.join();
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 40);
}

pub(super) fn of_connections_that_were_handed_over<B: SocketBackend>() {
    let server = serve::<B, _>(&config(3).placement(Placement::AlwaysOther), Echo);
    let address = server.address();
    let clients = (0..4).map(|_| {
        start(move || {
            for _ in 0..20 {
                // Some bytes are on their way before the connection is.
                let mut peer = Peer::connect(address);
                peer.exchange(200_000);
                peer.half_close();
                peer.expect_end();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.handed_off()), 80);
    assert_eq!(stats.total(|counts| counts.completed), 80);
}

pub(super) fn on_every_address_of_a_server<B: SocketBackend>() {
    let mut config = Config::new().workers(2).listen(LOOPBACK).listen(LOOPBACK);
    let v6 = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 0));
    if TcpListener::bind(v6).is_ok() {
        config = config.listen(v6);
    }
    let server = serve::<B, _>(&config, Echo);
    for address in server.handle().addresses() {
        for _ in 0..5 {
            let mut peer = Peer::connect(*address);
            peer.exchange(1000);
            peer.half_close();
            peer.expect_end();
        }
    }
    server.end();
}
