//! Refusals, limits per client, policies of the user's, and what connects while the server closes.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use corepool_core::handoff::{Handoff, Reserved, Room};
use corepool_core::overflow::Reject;
use corepool_core::{Backend, Connection, Handler, PerClient, Refusal};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{Peer, start};
use crate::served::{config, serve};

/// Says why it refuses.
#[derive(Debug, Clone, Copy)]
struct Polite;

impl<B: Backend> Handler<B> for Polite {
    async fn serve(&self, connection: Connection<B>) -> io::Result<()> {
        Echo.serve(connection).await
    }

    async fn refuse(&self, mut connection: Connection<B>, refusal: Refusal) {
        connection.send(refusal.to_string().into_bytes()).await.unwrap();
    }
}

pub(super) fn a_refusal_in_words_always_arrives<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).limit(1).overflow(Reject::Reply), Polite);
    let mut holder = server.connect();
    holder.exchange(10);
    for _ in 0..50 {
        let mut refused = server.connect();
        // Unread input would make the kernel reset the connection, and take the reply with it.
        refused.send(1000);
        refused.half_close();
        assert_eq!(refused.rest(), b"the server is full");
    }
    holder.exchange(10);
    drop(holder);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.refused_full), 50);
    assert_eq!(stats.total(|counts| counts.started), 1);
}

pub(super) fn a_refusal_may_be_a_reset<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).limit(1).overflow(Reject::Reset), Echo);
    let mut holder = server.connect();
    holder.exchange(10);
    let refused = TcpStream::connect(server.address()).unwrap();
    let error = refused.peek(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    server.end();
}

pub(super) fn one_client_gets_no_more_than_its_part<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).per_client(PerClient::new(3)), Echo);
    for round in 1..=3 {
        let mut peers: Vec<_> = (0..3).map(|_| server.connect()).collect();
        peers.iter_mut().for_each(|peer| peer.exchange(10));
        server.connect().expect_over();
        assert_eq!(server.stats().total(|counts| counts.refused_per_client), round);
        drop(peers);
        server.until(|stats| stats.active() == 0);
    }
    server.end();
}

pub(super) fn open_sockets_are_bounded_whoever_waits<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).limit(2).max_connections(3), Echo);
    let mut peers = [server.connect(), server.connect()];
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    let _waits = server.connect();
    server.until(|stats| stats.waiting() == 1);
    server.connect().expect_over();
    assert_eq!(server.stats().total(|counts| counts.refused_max_connections), 1);
    drop((peers, _waits));
    server.end();
}

/// Places connections where they are, and panics over every tenth.
#[derive(Debug, Default)]
struct Fickle(AtomicUsize);

impl Handoff for Fickle {
    fn place<'a>(&self, me: usize, room: &Room<'a>, _random: &mut fastrand::Rng) -> Option<Reserved<'a>> {
        let reserved = room.reserve(me);
        if self.0.fetch_add(1, Ordering::SeqCst) % 10 == 9 {
            resume_unwind(Box::new("as was wished"));
        }
        reserved
    }
}

pub(super) fn a_worker_that_panics_starts_again_and_loses_nobody_else<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1).handoff(Fickle::default()), Echo);
    let mut peers: Vec<_> = (0..9).map(|_| server.connect()).collect();
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    server.connect().expect_over(); // the tenth
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    server.connect().exchange(10);
    drop(peers);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.restarts), 1);
    assert_eq!(stats.total(|counts| counts.refused_panicked), 1);
}

/// granian#567, pingora#427: closing a listener resets what the kernel has queued for it.
pub(super) fn backlog_lost_at_stop<B: SocketBackend>() {
    for _ in 0..5 {
        let server = serve::<B, _>(&config(2), Echo);
        let address = server.address();
        let (served, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let storm = (0..4).map(|_| {
            let (served, over) = (Arc::clone(&served), Arc::clone(&over));
            start(move || {
                // Whoever gets no answer, or a refusal, has not connected.
                while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
                    let mut peer = Peer::from(stream);
                    // Served, or told in order: never reset.
                    peer.send(100);
                    let received = peer.expect_end_after(100);
                    assert!(received == 100 || (received == 0 && over.load(Ordering::SeqCst)), "{received}");
                    served.fetch_add(1, Ordering::SeqCst);
                }
            })
        });
        let storm: Vec<_> = storm.collect();
        server.until(|_| served.load(Ordering::SeqCst) > 100);
        over.store(true, Ordering::SeqCst);
        let stats = server.end();
        storm.into_iter().for_each(|client| client.join());
        assert_eq!(stats.total(|counts| counts.aborted + counts.failed), 0, "{stats}");
    }
}
