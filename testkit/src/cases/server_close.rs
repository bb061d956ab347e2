//! The end of a connection, by the server: the last reply always arrives.

use std::io;
use std::time::Duration;

use corepool_core::{Backend, Connection, Handler};

use crate::bench::race;
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::TOO_MUCH;
use crate::served::{config, serve};

/// How much the handlers here have to say, in bytes.
const REPLY: usize = 1 << 20;

pub(super) fn a_reply_arrives_although_input_was_left_unread<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Leaver { says: REPLY });
    for _ in 0..20 {
        let mut peer = server.connect();
        peer.send(200_000);
        peer.expect(REPLY);
        peer.expect_end();
    }
    server.end();
}

pub(super) fn a_reply_arrives_although_the_client_goes_on_sending<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Leaver { says: REPLY });
    for _ in 0..20 {
        let mut peer = server.connect();
        peer.send(1);
        peer.expect_answering(REPLY);
        peer.expect_end();
    }
    server.end();
}

pub(super) fn a_reply_arrives_although_its_send_was_given_up<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).linger(Duration::from_secs(60)), GivesUp);
    let mut peer = server.connect();
    peer.send(1);
    peer.expect(2 * TOO_MUCH);
    peer.expect_end();
    drop(peer);
    server.end();
}

pub(super) fn a_reply_arrives_during_a_shutdown<B: SocketBackend>() {
    for _ in 0..20 {
        let server = serve::<B, _>(&config(1), SumsUp);
        let mut peer = server.connect();
        peer.send(1);
        server.until(|stats| stats.active() == 1);
        server.handle().shutdown();
        peer.expect(REPLY);
        peer.expect_end();
        drop(peer);
        server.join();
    }
}

pub(super) fn a_reply_arrives_during_a_shutdown_although_the_client_goes_on_sending<B: SocketBackend>() {
    for _ in 0..20 {
        let server = serve::<B, _>(&config(1), SumsUp);
        let mut peer = server.connect();
        peer.send(1);
        server.until(|stats| stats.active() == 1);
        server.handle().shutdown();
        peer.expect_answering(REPLY);
        peer.expect_end();
        drop(peer);
        server.join();
    }
}

pub(super) fn a_client_that_stays_does_not_hold_it_up_for_long<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).linger(Duration::from_millis(50)), Leaver { says: 1000 });
    let mut peer = server.connect();
    peer.send(1);
    peer.expect(1000);
    peer.expect_end();
    server.until(|stats| stats.total(|counts| counts.completed) == 1);
    drop(peer);
    server.end();
}

pub(super) fn a_client_that_takes_nothing_does_not_hold_it_up_for_long<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).linger(Duration::from_millis(50)), GivesUpAtOnce);
    let mut peer = server.connect();
    peer.send(1);
    server.until(|stats| stats.total(|counts| counts.completed) == 1);
    peer.expect_over();
    server.end();
}

pub(super) fn finishing_leaves_the_clients_way_open<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Finisher);
    let mut peer = server.connect();
    peer.expect(1000);
    peer.expect_end();
    peer.send(100_000);
    drop(peer);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 1);
}

/// Says so much when the first bytes have come, and leaves.
#[derive(Debug, Clone, Copy)]
struct Leaver {
    says: usize,
}

impl<B: Backend> Handler<B> for Leaver {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        connection.recv().await?;
        connection.send(Pattern::default().take(self.says)).await
    }
}

/// Says more than the connection holds in two sends, and does not wait for the second.
#[derive(Debug, Clone, Copy)]
struct GivesUp;

impl<B: Backend> Handler<B> for GivesUp {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        let mut sent = Pattern::default();
        connection.recv().await?;
        for _ in 0..2 {
            connection.flush().await?;
            let _given_up = race(connection.send(sent.take(TOO_MUCH)), async {}).await;
        }
        Ok(())
    }
}

/// Says more than the connection holds, and leaves without waiting.
#[derive(Debug, Clone, Copy)]
struct GivesUpAtOnce;

impl<B: Backend> Handler<B> for GivesUpAtOnce {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        connection.recv().await?;
        let _given_up = race(connection.send(Pattern::default().take(TOO_MUCH)), async {}).await;
        Ok(())
    }
}

/// Says it when its client has finished, or its server.
#[derive(Debug, Clone, Copy)]
struct SumsUp;

impl<B: Backend> Handler<B> for SumsUp {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while connection.recv().await?.is_some() {}
        connection.send(Pattern::default().take(REPLY)).await
    }
}

/// Speaks first, and then listens.
#[derive(Debug, Clone, Copy)]
struct Finisher;

impl<B: Backend> Handler<B> for Finisher {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        connection.send(Pattern::default().take(1000)).await?;
        connection.finish().await?;
        let mut received = Pattern::default();
        while let Some(chunk) = connection.recv().await? {
            received.check(&chunk);
        }
        assert_eq!(received.position(), 100_000);
        Ok(())
    }
}
