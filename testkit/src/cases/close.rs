//! A close ends what is in flight, and the runtime holds nothing afterwards.

use std::net::Shutdown;

use corepool_core::backend::{Conn, SendBuf};

use crate::bench::{ConnExt, attach, on, stall, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::pair;
use crate::process::descriptor_count;

pub(super) fn of_a_quiet_connection<B: SocketBackend>() {
    closes::<B>(async |_conn| {});
}

pub(super) fn with_a_receive_in_flight<B: SocketBackend>() {
    closes::<B>(async |conn| assert!(conn.recv_once().await.is_pending()));
}

pub(super) fn with_a_wait_in_flight<B: SocketBackend>() {
    closes::<B>(async |conn| assert!(conn.readable_once().await.is_pending()));
}

pub(super) fn with_a_send_in_flight<B: SocketBackend>() {
    closes::<B>(async |conn| {
        stall::<B>(conn, &mut Pattern::default()).await;
    });
}

pub(super) fn with_a_send_that_was_never_polled<B: SocketBackend>() {
    closes::<B>(async |conn| conn.start_send(SendBuf::Static(b"never")));
}

pub(super) fn with_both_in_flight<B: SocketBackend>() {
    closes::<B>(async |conn| {
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(conn, &mut Pattern::default()).await;
    });
}

pub(super) fn after_a_detach_was_given_up<B: SocketBackend>() {
    closes::<B>(async |conn| {
        assert!(conn.recv_once().await.is_pending());
        stall::<B>(conn, &mut Pattern::default()).await;
        assert!(conn.detach_once().await.is_pending());
    });
}

pub(super) fn that_was_given_up_is_resumed<B: SocketBackend>() {
    closes::<B>(async |conn| {
        assert!(conn.recv_once().await.is_pending());
        let _given_up = conn.close_once().await;
    });
}

/// Brings a connection into a state and closes it: sooner and later, and twice.
fn closes<B: SocketBackend>(state: impl AsyncFn(&mut B::Conn)) {
    for turns in 0..3 {
        let (socket, mut peer) = pair();
        on::<B, _>(async || {
            let open = descriptor_count();
            let mut conn = attach::<B>(socket);
            state(&mut conn).await;
            for _ in 0..turns {
                turn::<B>().await;
            }
            conn.close().await;
            assert_eq!(descriptor_count(), open - 1, "the descriptor is open");
            assert!(B::lent_buffers() == 0 && !conn.is_sending());
            assert!(conn.close_once().await.is_ready());
            assert!(conn.recv().await.unwrap().is_none());
            conn.shutdown(Shutdown::Both).unwrap_err();
        });
        peer.expect_over();
    }
}
