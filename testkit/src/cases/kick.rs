//! `shutdown` ends what waits, at once and for ever.

use std::net::Shutdown;

use corepool_core::backend::Conn;

use crate::bench::{ConnExt, attach, on, stall, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::pair;

pub(super) fn ends_a_receive_and_leaves_the_other_way_open<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.expect(1_000_000);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        turn::<B>().await;
        conn.shutdown(Shutdown::Read).unwrap();
        assert!(conn.recv().await.unwrap().is_none());
        conn.send_next(&mut Pattern::default(), 1_000_000).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn ends_a_wait_without_a_buffer<B: SocketBackend>() {
    let (socket, _peer) = pair();
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.readable_once().await.is_pending());
        turn::<B>().await;
        conn.shutdown(Shutdown::Read).unwrap();
        conn.readable().await.unwrap();
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
}

pub(super) fn lasts_although_bytes_come_later<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(|mut peer| {
        peer.send(1000);
        peer.expect_over();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        conn.shutdown(Shutdown::Read).unwrap();
        assert!(conn.recv().await.unwrap().is_none());
        go.send(()).await.unwrap();
        for _ in 0..10 {
            assert!(conn.recv().await.unwrap().is_none());
            conn.readable().await.unwrap();
            turn::<B>().await;
        }
        conn.close().await;
    });
    peer.join();
}

pub(super) fn of_both_ways_ends_a_send<B: SocketBackend>() {
    let (socket, peer) = pair();
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(&mut conn, &mut Pattern::default()).await;
        conn.shutdown(Shutdown::Both).unwrap();
        conn.flush().await.unwrap_err();
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
    drop(peer);
}
