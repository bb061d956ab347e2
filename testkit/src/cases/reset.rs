//! A peer that resets the connection, in each state: one error, then the end of the stream.

use std::io::{self, ErrorKind};
use std::net::Shutdown;

use corepool_core::backend::{Conn, SendBuf};

use crate::bench::{ConnExt, attach, on, stall, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{Peer, TOO_MUCH, pair};

pub(super) fn while_a_receive_waits<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(Peer::reset);
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        go.send(()).await.unwrap();
        expect_reset_and_end::<B>(&mut conn).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn while_waiting_without_a_buffer<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(Peer::reset);
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.readable_once().await.is_pending());
        go.send(()).await.unwrap();
        if let Err(error) = conn.readable().await {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        } else {
            expect_reset_and_end::<B>(&mut conn).await;
        }
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
    peer.join();
}

pub(super) fn before_the_first_receive<B: SocketBackend>() {
    let (socket, mut peer) = pair();
    peer.send(1000);
    peer.reset();
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let mut received = Pattern::default();
        let error = loop {
            match conn.recv().await {
                Ok(bytes) => received.check(bytes.expect("an end instead of a reset").as_ref()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
}

pub(super) fn before_the_connection_is_attached_and_closed<B: SocketBackend>() {
    let (socket, peer) = pair();
    peer.reset();
    on::<B, _>(async || attach::<B>(socket).close().await);
}

pub(super) fn while_a_send_waits<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|peer| {
        peer.wait();
        peer.reset();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let sent = conn.send(SendBuf::Vec(Pattern::default().take(TOO_MUCH))).await;
        expect_broken(&sent.unwrap_err());
        assert!(!conn.is_sending());
        conn.flush().await.unwrap();
        let _reported_or_over = conn.recv().await;
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
    peer.join();
}

pub(super) fn while_both_directions_wait<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(Peer::reset);
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(&mut conn, &mut Pattern::default()).await;
        go.send(()).await.unwrap();
        // Linux reports the reset to whichever call asks first, and an end or a broken pipe to the other.
        match conn.recv().await {
            Ok(bytes) => assert!(bytes.is_none()),
            Err(error) => expect_broken(&error),
        }
        expect_broken(&conn.flush().await.unwrap_err());
        conn.close().await;
    });
    peer.join();
}

pub(super) fn after_our_half_close<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.expect_end();
        peer.reset();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        conn.shutdown(Shutdown::Write).unwrap();
        expect_reset_and_end::<B>(&mut conn).await;
        conn.close().await;
    });
    peer.join();
}

pub(super) fn after_the_peers_half_close<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, gone) = async_channel::bounded(1);
    let peer = peer.spawn(move |peer| {
        peer.half_close();
        gone.recv_blocking().unwrap();
        peer.reset();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv().await.unwrap().is_none());
        go.send(()).await.unwrap();
        let error = loop {
            // Until the reset is here there is room for a little.
            if let Err(error) = conn.send(SendBuf::Static(b"?")).await {
                break error;
            }
            turn::<B>().await;
        };
        expect_broken(&error);
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
    peer.join();
}

pub(super) fn during_a_detach<B: SocketBackend>() {
    let (socket, peer) = pair();
    let (go, peer) = peer.spawn_on_signal(Peer::reset);
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(&mut conn, &mut Pattern::default()).await;
        go.send(()).await.unwrap();
        expect_broken(&conn.detach().await.unwrap_err());
        let _reported_or_over = conn.recv().await;
        assert!(conn.recv().await.unwrap().is_none());
        conn.close().await;
    });
    peer.join();
}

async fn expect_reset_and_end<B: SocketBackend>(conn: &mut B::Conn) {
    let error = conn.recv().await.err().expect("an error");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    for _ in 0..3 {
        assert!(conn.recv().await.unwrap().is_none());
    }
    expect_broken(&conn.send(SendBuf::Static(b"?")).await.unwrap_err());
}

fn expect_broken(error: &io::Error) {
    let kinds = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    assert!(kinds.contains(&error.kind()), "neither reset nor broken: {error:?}");
}
