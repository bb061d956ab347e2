//! Many connections at once.

use std::net::Shutdown;

use corepool_core::backend::{Conn, SendBuf};

use crate::bench::{ConnExt, attach, on};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{narrow_pair, pair};

pub(super) fn of_a_thousand_that_do_not_read_leaves_one_served<B: SocketBackend>() {
    const CROWD: usize = 1000;
    let (sockets, idlers): (Vec<_>, Vec<_>) = (0..CROWD).map(|_| narrow_pair()).unzip();
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        for _ in 0..1000 {
            peer.exchange(512);
        }
        peer.half_close();
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut crowd: Vec<_> = sockets.into_iter().map(attach::<B>).collect();
        for conn in &mut crowd {
            assert!(conn.recv_once().await.is_pending());
            conn.start_send(SendBuf::Static(Pattern::default().next(1_000_000)));
            assert!(conn.flush_once().await.is_pending());
        }
        let mut served = attach::<B>(socket);
        served.echo().await.unwrap();
        served.close().await;
        for conn in &mut crowd {
            assert!(conn.flush_once().await.is_pending());
            conn.shutdown(Shutdown::Both).unwrap();
            conn.close().await;
        }
    });
    peer.join();
    drop(idlers);
}
