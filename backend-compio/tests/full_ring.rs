//! A ring that is too small for what happens in one turn: compio forgets withdrawals then. Nothing may depend on them.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{close, once, pair, recv_exact, run, turn};
use corepool_compio::{Compio, CompioConn, Config};
use corepool_core::backend::{Backend, Conn};

const CONNECTIONS: usize = 200;

fn small_ring() -> Config {
    let mut config = Config::default();
    config.ring_entries = 8;
    config
}

/// Connections that all have a receive in flight, and their peers.
async fn receiving() -> (Vec<CompioConn>, Vec<TcpStream>) {
    let (mut conns, peers): (Vec<_>, Vec<_>) = (0..CONNECTIONS).map(|_| pair()).unzip();
    assert_eq!(once(&mut conns, |conn, cx| conn.poll_recv(cx)).await, 0);
    turn().await;
    assert_eq!(Compio::lent_buffers(), CONNECTIONS);
    (conns, peers)
}

#[test]
fn connections_that_fall_idle_at_once_receive_what_comes() {
    run(&small_ring(), || async {
        let (mut conns, mut peers) = receiving().await;
        assert_eq!(once(&mut conns, |conn, cx| conn.poll_readable(cx)).await, 0);
        turn().await;
        once(&mut conns, |conn, cx| conn.poll_readable(cx)).await;
        for (index, peer) in peers.iter_mut().enumerate() {
            peer.write_all(&[index as u8; 100]).expect("sent");
        }
        for (index, conn) in conns.iter_mut().enumerate() {
            assert_eq!(recv_exact(conn, 100).await, [index as u8; 100]);
            close(conn).await;
        }
        assert_eq!(Compio::lent_buffers(), 0);
    });
}

#[test]
fn connections_that_close_at_once_are_closed() {
    run(&small_ring(), || async {
        let (mut conns, peers) = receiving().await;
        assert_eq!(once(&mut conns, |conn, cx| conn.poll_close(cx)).await, 0);
        for conn in &mut conns {
            close(conn).await;
        }
        assert_eq!(Compio::lent_buffers(), 0);
        for mut peer in peers {
            assert_eq!(peer.read(&mut [0]).expect("an orderly end"), 0);
        }
    });
}

#[test]
fn connections_that_are_dropped_at_once_end() {
    run(&small_ring(), || async {
        let (conns, peers) = receiving().await;
        drop(conns);
        for mut peer in peers {
            assert_eq!(peer.read(&mut [0]).expect("an orderly end"), 0);
        }
        while Compio::lent_buffers() > 0 {
            turn().await;
        }
    });
}

#[test]
fn connections_that_are_detached_at_once_are_given_back() {
    run(&small_ring(), || async {
        let (mut conns, mut peers) = receiving().await;
        assert_eq!(once(&mut conns, |conn, cx| conn.poll_detach(cx)).await, 0);
        for (conn, peer) in conns.iter_mut().zip(&mut peers) {
            let detached = common::detach(conn).await.expect("detached");
            peer.write_all(b"still there").expect("sent");
            let mut again = common::attach(detached);
            assert_eq!(recv_exact(&mut again, 11).await, b"still there");
            close(&mut again).await;
        }
    });
}
