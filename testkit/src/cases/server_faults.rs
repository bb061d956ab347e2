//! Handlers that fail in every way there is: each costs one connection.

use std::future::pending;
use std::io;
use std::panic::resume_unwind;

use corepool_core::{Backend, Connection, Handler};

use crate::bench::race;
use crate::harness::SocketBackend;
use crate::peer::TOO_MUCH;
use crate::served::{Served, config, serve};

pub(super) fn a_panic_costs_one_connection<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut witness = server.connect();
    for _ in 0..20 {
        fails(&server, PANIC);
        witness.ask::<1>(FINE);
    }
    drop(witness);
    let stats = server.end();
    assert_eq!((stats.total(|counts| counts.panicked), stats.total(|counts| counts.completed)), (20, 1));
}

pub(super) fn a_panic_with_a_reply_on_its_way_costs_one_connection<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut witness = server.connect();
    for _ in 0..5 {
        fails(&server, PANIC_WHILE_SENDING);
        witness.ask::<1>(FINE);
    }
    drop(witness);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.panicked), 5);
}

pub(super) fn a_panic_of_the_futures_drop_costs_one_connection<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut peers = [server.connect(), server.connect(), server.connect()];
    peers[0].ask::<1>(PANIC_WHEN_DROPPED);
    peers[1].ask::<1>(PANIC_WHEN_DROPPED);
    peers[2].ask::<1>(FINE);
    server.handle().abort();
    for peer in &mut peers {
        peer.expect_over();
    }
    let stats = server.join();
    assert_eq!((stats.total(|counts| counts.panicked), stats.total(|counts| counts.aborted)), (2, 1));
}

pub(super) fn an_error_costs_one_connection<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut witness = server.connect();
    for _ in 0..20 {
        fails(&server, ERROR);
        witness.ask::<1>(FINE);
    }
    drop(witness);
    let stats = server.end();
    assert_eq!((stats.total(|counts| counts.failed), stats.total(|counts| counts.completed)), (20, 1));
}

pub(super) fn a_reset_of_the_peers_costs_one_connection<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut witness = server.connect();
    for _ in 0..20 {
        let mut peer = server.connect();
        peer.ask::<1>(FINE);
        peer.reset();
        witness.ask::<1>(FINE);
    }
    server.until(|stats| stats.active() == 1);
    drop(witness);
    let stats = server.end();
    assert_eq!((stats.total(|counts| counts.failed), stats.total(|counts| counts.completed)), (20, 1));
}

pub(super) fn an_abort_ends_who_waits_for_something_else<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2), Faulty);
    let mut peers: Vec<_> = (0..10).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.ask::<1>(WAIT);
    }
    server.handle().abort();
    for peer in &mut peers {
        peer.expect_over();
    }
    let stats = server.join();
    assert_eq!(stats.total(|counts| counts.aborted), 10);
}

pub(super) fn an_abort_ends_a_send_that_nobody_reads<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Faulty);
    let mut peer = server.connect();
    peer.ask::<1>(FLOOD);
    server.handle().abort();
    let stats = server.join();
    assert_eq!(stats.total(|counts| counts.aborted), 1);
    peer.expect_over();
}

/// Asks for a fault, and sees the connection end.
fn fails(server: &Served, fault: u8) {
    let mut peer = server.connect();
    peer.ask::<1>(fault);
    peer.expect_over();
}

const FINE: u8 = 0;
const PANIC: u8 = 1;
const PANIC_WHILE_SENDING: u8 = 2;
const PANIC_WHEN_DROPPED: u8 = 3;
const ERROR: u8 = 4;
const WAIT: u8 = 5;
const FLOOD: u8 = 6;

/// Sends each byte back, and then does what it says.
#[derive(Debug, Clone, Copy)]
struct Faulty;

impl<B: Backend> Handler<B> for Faulty {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = connection.recv().await? {
            let wish = chunk[0];
            connection.send(chunk).await?;
            match wish {
                PANIC => panic_quietly(),
                PANIC_WHILE_SENDING => {
                    let sending = connection.send(vec![0; TOO_MUCH]);
                    let _given_up = race(sending, async {}).await;
                    panic_quietly();
                }
                PANIC_WHEN_DROPPED => {
                    let _grenade = Grenade;
                    pending().await
                }
                ERROR => return Err(io::Error::other("as was wished")),
                WAIT => pending().await,
                FLOOD => connection.send(vec![0; TOO_MUCH]).await?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Panics without a word on the error output.
fn panic_quietly() {
    resume_unwind(Box::new("as was wished"));
}

struct Grenade;

impl Drop for Grenade {
    fn drop(&mut self) {
        panic_quietly();
    }
}
