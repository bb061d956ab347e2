//! Buffers: who holds one, and for how long.

use corepool_core::backend::Conn;

use crate::bench::{ConnExt, attach, on, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{pair, start};

pub(super) fn a_connection_that_waits_without_a_buffer_holds_none<B: SocketBackend>() {
    const CONNECTIONS: usize = 100;
    let (sockets, peers): (Vec<_>, Vec<_>) = (0..CONNECTIONS).map(|_| pair()).unzip();
    let (go, gone) = async_channel::bounded(1);
    let peers = start(move || {
        gone.recv_blocking().unwrap();
        for mut peer in peers {
            peer.exchange(1000);
        }
    });
    on::<B, _>(async || {
        let mut conns: Vec<_> = sockets.into_iter().map(attach::<B>).collect();
        for conn in &mut conns {
            assert!(conn.recv_once().await.is_pending());
        }
        turn::<B>().await;
        loop {
            for conn in &mut conns {
                assert!(conn.readable_once().await.is_pending());
            }
            if B::lent_buffers() == 0 {
                break; // or stuck: withdrawing takes a turn or two
            }
            turn::<B>().await;
        }
        go.send(()).await.unwrap();
        for conn in &mut conns {
            conn.readable().await.unwrap();
            conn.expect(&mut Pattern::default(), 1000).await;
            conn.send_next(&mut Pattern::default(), 1000).await;
            conn.close().await;
        }
    });
    peers.join();
}

pub(super) fn what_is_lent_is_counted<B: SocketBackend>() {
    let (socket, mut peer) = pair();
    peer.send(1000);
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let loan = conn.recv().await.unwrap().unwrap();
        let buffer = conn.buffer();
        assert!(B::lent_buffers() >= 2);
        drop((loan, buffer));
        conn.close().await;
    });
}

pub(super) fn a_thousand_loans_may_be_kept<B: SocketBackend>() {
    const LOANS: usize = 1000;
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        for _ in 0..LOANS {
            peer.send(1000);
            peer.expect(1);
        }
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        let (mut sent, mut received) = (Pattern::default(), 0);
        let mut loans = Vec::new();
        for message in 1..=LOANS {
            while received < message * 1000 {
                let loan = conn.recv().await.unwrap().unwrap();
                received += loan.as_ref().len();
                loans.push(loan);
            }
            conn.send_next(&mut sent, 1).await;
        }
        let mut stream = Pattern::default();
        for loan in &loans {
            stream.check(loan.as_ref());
        }
        conn.close().await;
        let mut stream = Pattern::default();
        for loan in loans {
            stream.check(loan.as_ref()); // they outlive the connection
        }
    });
    peer.join();
}
