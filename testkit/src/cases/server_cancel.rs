//! Futures of a connection that a handler drops half way.

use std::future::ready;
use std::io;

use corepool_core::{Backend, Connection, Handler};

use crate::bench::{race, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::TOO_MUCH;
use crate::served::{config, serve};

pub(super) fn receives_and_sends_that_are_given_up_lose_nothing<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Fickle);
    let mut peer = server.connect();
    for size in [1, 100, 10_000, 1 << 20, 5 << 20] {
        peer.exchange(size);
    }
    peer.half_close();
    peer.expect_end();
    drop(peer);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 1);
}

pub(super) fn a_send_that_was_given_up_goes_on_during_the_next_receive<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Distracted);
    let mut peer = server.connect();
    peer.send(1);
    peer.expect(TOO_MUCH);
    peer.exchange(1);
    drop(peer);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 1);
}

/// Answers with more than the connection holds, and listens again before that is sent.
#[derive(Debug, Clone, Copy)]
struct Distracted;

impl<B: Backend> Handler<B> for Distracted {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        let mut sent = Pattern::default();
        connection.recv().await?;
        let _given_up = race(connection.send(sent.take(TOO_MUCH)), ready(())).await;
        connection.recv().await?;
        connection.send(sent.take(1)).await?;
        connection.recv().await.map(drop)
    }
}

/// Sends everything back, and gives up half of what it begins.
#[derive(Debug, Clone, Copy)]
struct Fickle;

impl<B: Backend> Handler<B> for Fickle {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        loop {
            let received = match fastrand::u8(0..4) {
                0 => race(connection.recv(), ready(())).await,
                1 => race(connection.recv(), turn::<B>()).await,
                _ => Ok(connection.recv().await),
            };
            let Ok(received) = received else { continue };
            let Some(chunk) = received? else { return Ok(()) };
            connection.flush().await?; // so that the next send begins at its first poll
            if fastrand::bool() {
                connection.send(chunk).await?;
            } else if let Ok(sent) = race(connection.send(chunk), ready(())).await {
                sent?;
            }
        }
    }
}
