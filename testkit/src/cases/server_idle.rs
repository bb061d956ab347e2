//! Connections that are idle: they hold no receive buffer, and wake up with every byte.

use std::io;
use std::thread;
use std::time::Duration;

use corepool_core::{Backend, Connection, Handler};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::served::{config, serve};

pub(super) fn after_a_second_no_connection_holds_a_buffer<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Census);
    let mut peers: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.ask::<8>(b'?');
    }
    let mut census = server.connect();
    while u64::from_ne_bytes(census.ask(b'?')) > 0 {
        thread::sleep(Duration::from_millis(20)); // or stuck
    }
    for peer in &mut peers {
        peer.ask::<8>(b'?'); // they all still work
    }
    drop((peers, census));
    server.end();
}

pub(super) fn connections_that_fall_asleep_and_wake_up_lose_nothing<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    let clients: Vec<_> = (0..60)
        .map(|client| {
            server.connect().spawn(move |mut peer| {
                for _ in 0..6 {
                    // Some of these messages come at the very moment of a sweep.
                    thread::sleep(Duration::from_millis(370 + client));
                    peer.exchange(1000);
                }
                peer.half_close();
                peer.expect_end();
            })
        })
        .collect();
    for client in clients {
        client.join();
    }
    server.end();
}

pub(super) fn connections_that_are_asleep_see_the_end<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Census);
    let mut peers: Vec<_> = (0..10).map(|_| server.connect()).collect();
    while u64::from_ne_bytes(peers[0].ask(b'?')) > 0 {
        thread::sleep(Duration::from_millis(20));
    }
    for peer in peers.drain(1..) {
        peer.half_close();
        peer.reset();
    }
    server.until(|stats| stats.active() == 1);
    drop(peers);
    server.end();
}

/// Answers every question with the number of buffers that are lent out on this worker.
#[derive(Debug, Clone, Copy)]
struct Census;

impl<B: Backend> Handler<B> for Census {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(question) = connection.recv().await? {
            drop(question);
            let lent = B::lent_buffers() as u64;
            connection.send(lent.to_ne_bytes().to_vec()).await?;
        }
        Ok(())
    }
}
