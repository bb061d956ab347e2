//! A connection that gives its socket back, at any moment, with every byte.

use std::task::Poll;

use corepool_core::backend::{Conn, Detached, SendBuf};

use crate::bench::{ConnExt, attach, on, stall, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{TOO_MUCH, Trickle, pair};

pub(super) fn at_a_quiet_point<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        for _ in 0..100 {
            peer.exchange(1000);
        }
    });
    on::<B, _>(async || {
        let (mut sent, mut received) = (Pattern::default(), Pattern::default());
        let mut detached = Detached::from(socket);
        for _ in 0..100 {
            let mut conn = attach::<B>(detached);
            conn.expect(&mut received, 1000).await;
            conn.send_next(&mut sent, 1000).await;
            detached = conn.detach().await.unwrap();
            assert!(conn.recv().await.unwrap().is_none(), "a detached connection is closed");
            conn.close().await;
        }
    });
    peer.join();
}

pub(super) fn with_a_receive_in_flight_that_gets_nothing<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(|mut peer| {
        peer.exchange(1000);
    });
    on::<B, _>(async || {
        let mut detached = Detached::from(socket);
        for turns in 0..10 {
            let mut conn = attach::<B>(detached);
            assert!(conn.recv_once().await.is_pending());
            for _ in 0..turns {
                turn::<B>().await;
            }
            detached = conn.detach().await.unwrap();
            assert!(detached.unread.is_empty());
        }
        go.send(()).await.unwrap();
        let mut conn = attach::<B>(detached);
        conn.expect(&mut Pattern::default(), 1000).await;
        conn.send_next(&mut Pattern::default(), 1000).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn with_receives_in_flight_while_bytes_arrive<B: SocketBackend>() {
    let (socket, peer) = pair();
    let mut trickle = Trickle::start(peer);
    let life = on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let mut received = Pattern::default();
        for _ in 0..2000 {
            trickle.demand(received.position());
            if let Poll::Ready(bytes) = conn.recv_once().await {
                received.check(bytes.unwrap().unwrap().as_ref());
                continue;
            }
            if fastrand::bool() {
                turn::<B>().await;
            }
            conn = attach::<B>(conn.detach().await.unwrap());
        }
        let (sent, life) = trickle.end();
        conn.expect_end(&mut received).await;
        assert_eq!(received.position(), sent);
        conn.close().await;
        life
    });
    life.join();
}

pub(super) fn carries_unread_bytes<B: SocketBackend>() {
    const UNREAD: usize = 100_000;
    let (socket, mut peer) = pair();
    on::<B, _>(async || {
        // What a former owner has received, before the peer's own bytes.
        let (mut before, mut received) = (Pattern::default(), Pattern::default());
        let mut conn = attach::<B>(Detached { socket, unread: before.take(UNREAD) });
        let Detached { socket, unread } = conn.detach().await.unwrap();
        assert_eq!(unread.len(), UNREAD);
        let mut conn = attach::<B>(Detached { socket, unread });
        assert!(conn.readable_once().await.is_ready());
        conn.expect(&mut received, UNREAD).await;
        assert!(conn.recv_once().await.is_pending());
        peer.send(1000);
        conn.expect(&mut Pattern::default(), 1000).await;
        conn.close().await;
    });
}

pub(super) fn finishes_the_send_in_flight<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.expect(TOO_MUCH);
        peer.exchange(1000);
    });
    on::<B, _>(async || {
        let mut sent = Pattern::default();
        let mut conn = attach::<B>(socket);
        conn.start_send(SendBuf::Vec(sent.take(TOO_MUCH)));
        let mut conn = attach::<B>(conn.detach().await.unwrap());
        conn.expect(&mut Pattern::default(), 1000).await;
        conn.send_next(&mut sent, 1000).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn against_a_full_send_buffer_is_given_up_and_resumed<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, gone) = async_channel::bounded(1);
    let peer = peer.spawn(move |mut peer| {
        peer.wait();
        peer.send(10_000);
        gone.recv_blocking().unwrap();
        peer.send(10_000);
        peer.expect(TOO_MUCH + 1000);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let (mut sent, mut received) = (Pattern::default(), Pattern::default());
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(&mut conn, &mut sent).await;
        assert!(conn.detach_once().await.is_pending() && conn.is_sending());
        conn.expect(&mut received, 10_000).await;
        assert!(conn.detach_once().await.is_pending());
        go.send(()).await.unwrap();
        let mut conn = attach::<B>(conn.detach().await.unwrap());
        conn.expect(&mut received, 10_000).await;
        conn.send_next(&mut sent, 1000).await;
        conn.close().await;
    });
    peer.join();
}
