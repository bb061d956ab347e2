//! The end of the stream, either way.

use std::net::Shutdown;

use corepool_core::backend::Conn;

use crate::bench::{ConnExt, attach, on};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::pair;

pub(super) fn is_reported_for_ever<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.send(100_000);
        peer.half_close();
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let mut received = Pattern::default();
        conn.expect_end(&mut received).await;
        assert_eq!(received.position(), 100_000);
        for _ in 0..3 {
            assert!(conn.recv().await.unwrap().is_none());
            conn.readable().await.unwrap();
        }
        conn.close().await;
        assert!(conn.recv().await.unwrap().is_none());
    });
    peer.join();
}

pub(super) fn of_the_peers_leaves_ours_open<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.half_close();
        peer.expect(1_000_000);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv().await.unwrap().is_none());
        conn.send_next(&mut Pattern::default(), 1_000_000).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn of_ours_leaves_the_peers_open<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.expect(1000);
        peer.expect_end();
        peer.send(1_000_000);
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        conn.send_next(&mut Pattern::default(), 1000).await;
        conn.shutdown(Shutdown::Write).unwrap();
        let mut received = Pattern::default();
        conn.expect_end(&mut received).await;
        assert_eq!(received.position(), 1_000_000);
        conn.close().await;
    });
    peer.join();
}

pub(super) fn of_ours_comes_while_a_receive_waits<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.expect_end();
        peer.send(1000);
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        conn.shutdown(Shutdown::Write).unwrap();
        conn.expect(&mut Pattern::default(), 1000).await;
        conn.close().await;
    });
    peer.join();
}
