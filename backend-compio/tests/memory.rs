//! Who holds a buffer, and when.

mod common;

use std::io::Write;

use common::{close, once, pair, recv, recv_exact, run, turn};
use corepool_compio::{Compio, Config};
use corepool_core::backend::{Backend, Conn};

fn with_waiting_buffers(most: usize) -> Config {
    let mut config = Config::default();
    config.waiting_buffers_max = most;
    config
}

#[test]
fn no_more_wait_with_a_buffer_than_may_and_all_are_served() {
    for most in [0, 2] {
        run(&with_waiting_buffers(most), || async {
            let (mut conns, mut peers): (Vec<_>, Vec<_>) = (0..64).map(|_| pair()).unzip();
            for round in 0..10_u8 {
                assert_eq!(once(&mut conns, |conn, cx| conn.poll_recv(cx)).await, 0);
                assert_eq!(Compio::lent_buffers(), most);
                for (conn, peer) in conns.iter_mut().zip(&mut peers) {
                    peer.write_all(&[round; 50]).expect("sent");
                    assert_eq!(recv_exact(conn, 50).await, [round; 50]);
                }
            }
            for conn in &mut conns {
                close(conn).await;
            }
            assert_eq!(Compio::lent_buffers(), 0);
        });
    }
}

#[test]
fn loans_that_are_kept_keep_nobody_from_receiving() {
    run(&with_waiting_buffers(4), || async {
        let (mut conns, mut peers): (Vec<_>, Vec<_>) = (0..64).map(|_| pair()).unzip();
        let mut kept = Vec::new();
        for (index, (conn, peer)) in conns.iter_mut().zip(&mut peers).enumerate() {
            peer.write_all(&[index as u8; 50]).expect("sent");
            kept.push(recv(conn).await.expect("no error").expect("not the end"));
        }
        assert!(kept.iter().enumerate().all(|(index, loan)| **loan == [index as u8; 50]));
        assert_eq!(Compio::lent_buffers(), kept.len());
        for conn in &mut conns {
            close(conn).await;
        }
    });
}

#[test]
fn a_connection_that_was_idle_has_to_be_busy_before_it_waits_with_a_buffer() {
    run(&Config::default(), || async {
        let (conn, mut peer) = pair();
        let conn = &mut [conn];
        assert_eq!(once(conn, |conn, cx| conn.poll_recv(cx)).await, 0);
        assert_eq!(Compio::lent_buffers(), 1);
        while Compio::lent_buffers() > 0 {
            assert_eq!(once(conn, |conn, cx| conn.poll_readable(cx)).await, 0);
            turn().await;
        }
        let mut lent = Vec::new();
        for _ in 0..4 {
            assert_eq!(once(conn, |conn, cx| conn.poll_recv(cx)).await, 0);
            lent.push(Compio::lent_buffers());
            peer.write_all(b"wake up").expect("sent");
            assert_eq!(recv_exact(&mut conn[0], 7).await, b"wake up");
        }
        assert_eq!(lent, [0, 0, 1, 1]);
        close(&mut conn[0]).await;
    });
}
