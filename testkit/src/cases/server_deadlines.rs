//! Clients that take too long.

use std::io;
use std::time::{Duration, Instant};

use corepool_core::{Backend, Connection, Deadlines, Handler, Scope};

use crate::handlers::{Echo, Sleeper};
use crate::harness::SocketBackend;
use crate::peer::Peer;
use crate::served::{Served, config, serve};

const SHORT: Duration = Duration::from_millis(200);

/// Runs a client that must be cut, and not before the deadline.
fn is_cut(server: &Served, client: impl FnOnce(Peer)) {
    let begun = Instant::now();
    client(server.connect());
    assert!(begun.elapsed() >= SHORT, "too soon");
    server.until(|stats| stats.total(|counts| counts.timed_out) == 1);
}

pub(super) fn a_client_that_says_nothing_is_cut<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().first_byte(SHORT)), Echo);
    let mut talker = server.connect();
    talker.exchange(10);
    is_cut(&server, |mut silent| silent.expect_over());
    talker.exchange(10);
    server.end();
}

pub(super) fn a_client_that_falls_silent_is_cut_in_order<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().idle(SHORT)), Echo);
    is_cut(&server, |mut peer| {
        peer.exchange(1000);
        assert_eq!(peer.expect_end(), 1000);
    });
    server.end();
}

pub(super) fn a_handler_that_works_is_not_idle<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().idle(SHORT / 10)), Sleeper);
    let _peer = server.connect();
    server.until(|stats| stats.active() == 1);
    let worked = Instant::now();
    while worked.elapsed() < SHORT {
        std::thread::sleep(SHORT / 20); // the time in which it would be cut
    }
    assert_eq!(server.stats().total(|counts| counts.timed_out), 0);
    server.handle().abort();
    server.join();
}

/// Collects requests of a hundred bytes.
#[derive(Debug, Clone, Copy)]
struct Collector;

impl<B: Backend> Handler<B> for Collector {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(_request) = connection.request().await? {
            let mut missing = 100_usize;
            while missing > 0 {
                let Some(chunk) = connection.recv().await? else { return Ok(()) };
                missing = missing.saturating_sub(chunk.len());
                connection.send(chunk).await?;
            }
        }
        Ok(())
    }
}

/// vouch#1127: a slow client held its connection for ever.
pub(super) fn header_timeout_inert_without_a_timer<B: SocketBackend>() {
    let deadlines = Deadlines::none().request(SHORT);
    let server = serve::<B, _>(&config(1).scope(Scope::Request).deadlines(deadlines), Collector);
    is_cut(&server, |mut slow| while slow.drips() {});
    let mut quick = server.connect();
    (0..3).for_each(|_| quick.exchange(100));
    drop(quick);
    server.end();
}

pub(super) fn a_request_that_stops_half_way_is_cut<B: SocketBackend>() {
    let deadlines = Deadlines::none().receive(SHORT);
    let server = serve::<B, _>(&config(1).scope(Scope::Request).deadlines(deadlines), Collector);
    is_cut(&server, |mut slow| {
        slow.exchange(99);
        slow.expect_over();
    });
    server.end();
}

pub(super) fn a_client_that_does_not_read_is_cut<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().send(SHORT)), Echo);
    is_cut(&server, Peer::send_until_over);
    server.end();
}

pub(super) fn a_client_that_reads_slowly_is_not_cut<B: SocketBackend>() {
    const LENGTH: usize = 4 << 20;
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().send(SHORT * 5)), Echo);
    let mut peer = Peer::connect_narrow(server.address());
    let begun = Instant::now();
    // It takes several deadlines to read what is one long stream of sends.
    while begun.elapsed() < SHORT * 15 {
        peer.exchange(LENGTH / 64);
    }
    drop(peer);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.timed_out), 0);
}

pub(super) fn the_longest_life_ends<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).deadlines(Deadlines::none().life(SHORT)), Echo);
    is_cut(&server, |mut peer| while peer.drips() {});
    server.end();
}

/// Gives its connection a deadline of its own.
#[derive(Debug, Clone, Copy)]
struct Strict;

impl<B: Backend> Handler<B> for Strict {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        connection.set_deadlines(Deadlines::none().idle(SHORT));
        connection.recv().await.map(drop)
    }
}

pub(super) fn a_connection_may_have_deadlines_of_its_own<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Strict);
    is_cut(&server, |mut peer| peer.expect_over());
    server.end();
}
