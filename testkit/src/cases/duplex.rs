//! Both directions at once, from one task or from several in turn.

use std::panic::{AssertUnwindSafe, catch_unwind};

use corepool_core::backend::{Conn, SendBuf};

use crate::bench::{ConnExt, attach, on, stall, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{TOO_MUCH, pair};
use crate::task::spawn;

pub(super) fn receives_while_a_send_waits<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(|mut peer| {
        peer.send(10_000);
        peer.expect(TOO_MUCH);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        stall::<B>(&mut conn, &mut Pattern::default()).await;
        assert!(conn.is_sending());
        go.send(()).await.unwrap();
        conn.expect(&mut Pattern::default(), 10_000).await;
        conn.flush().await.unwrap();
        assert!(conn.flush_once().await.is_ready() && !conn.is_sending());
        conn.close().await;
    });
    peer.join();
}

pub(super) fn of_the_tasks_that_wait_to_receive_the_last_is_woken<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(|mut peer| {
        peer.send(100);
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        turn::<B>().await;
        let last = spawn::<B, _>(async move {
            assert!(conn.recv_once().await.is_pending());
            go.send(()).await.unwrap();
            conn.expect(&mut Pattern::default(), 100).await;
            conn.close().await;
        });
        last.join().await;
    });
    peer.join();
}

pub(super) fn of_the_tasks_that_wait_to_flush_the_last_is_woken<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(|mut peer| {
        peer.expect(TOO_MUCH);
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        stall::<B>(&mut conn, &mut Pattern::default()).await;
        let last = spawn::<B, _>(async move {
            assert!(conn.flush_once().await.is_pending());
            go.send(()).await.unwrap();
            conn.flush().await.unwrap();
            conn.close().await;
        });
        last.join().await;
    });
    peer.join();
}

pub(super) fn a_send_on_top_of_another_panics<B: SocketBackend>() {
    let (socket, mut peer) = pair();
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        conn.start_send(SendBuf::Static(b"first"));
        let second = catch_unwind(AssertUnwindSafe(|| conn.start_send(SendBuf::Static(b"second"))));
        assert!(second.is_err());
        conn.flush().await.unwrap();
        conn.close().await;
    });
    assert_eq!(peer.rest(), b"first");
}

pub(super) fn each_kind_of_bytes_is_sent<B: SocketBackend>() {
    const LARGE: usize = 300_000;
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.exchange(512);
        peer.expect(3 * 512 + LARGE);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let mut sent = Pattern::default();
        while sent.position() < 512 {
            let loan = conn.recv().await.unwrap().unwrap();
            sent.check(loan.as_ref());
            conn.send(SendBuf::Loan(loan)).await.unwrap();
        }
        for bytes in [512, LARGE] {
            let mut buffer = conn.buffer();
            assert!(buffer.is_empty());
            buffer.extend_from_slice(&sent.take(bytes));
            conn.send(SendBuf::Pooled(buffer)).await.unwrap();
        }
        conn.send(SendBuf::Vec(sent.take(512))).await.unwrap();
        conn.send(SendBuf::Vec(Vec::new())).await.unwrap();
        conn.send(SendBuf::Static(sent.next(512))).await.unwrap();
        conn.close().await;
    });
    peer.join();
}
