//! Receives that are withdrawn in every way, at any moment, while the peer streams: no byte is lost, none comes twice.
//!
//! Run it optimised too: compio's own `with_cancel` works in a debug build only.

mod common;

use std::future::poll_fn;
use std::io::Write;
use std::task::Poll;
use std::thread;

use common::{attach, close, detach, pair, recv, run, turn};
use corepool_compio::{CompioConn, Config};
use corepool_core::backend::Conn;
use fastrand::Rng;

const TOTAL: usize = 2 << 20;

#[test]
fn a_stream_survives_thousands_of_withdrawals() {
    let mut seeds = 0..100;
    let (mut withdrawn, mut in_time) = (0, 0);
    while withdrawn < 10_000 || in_time < 100 {
        let seed =
            seeds.next().expect("enough withdrawals in a hundred streams, and bytes that they brought");
        let (times, with_bytes) = run(&Config::default(), || stream(seed));
        withdrawn += times;
        in_time += with_bytes;
    }
}

/// Receives a stream with `seed`, in a way that follows from it. Returns how often the receive was withdrawn, and
/// how often that brought bytes.
async fn stream(seed: u64) -> (usize, usize) {
    let (mut conn, mut peer) = pair();
    let writer = thread::spawn(move || {
        let mut sizes = Rng::with_seed(!seed);
        let mut sent = 0;
        while sent < TOTAL {
            let size = sizes.usize(1..1500).min(TOTAL - sent);
            peer.write_all(&part(seed, sent, size)).expect("the reader is there");
            sent += size;
        }
    });
    let mut random = Rng::with_seed(seed);
    let (mut received, mut withdrawals, mut with_bytes) = (0, 0, 0);
    loop {
        match random.u8(0..5) {
            0 => withdrawals += usize::from(waits_for_readiness(&mut conn).await),
            1 => withdrawals += usize::from(gives_up_a_detach(&mut conn).await),
            2 => {
                let detached = detach(&mut conn).await.expect("detached");
                with_bytes += usize::from(!detached.unread.is_empty());
                conn = attach(detached);
                withdrawals += 1;
            }
            3 => turn().await,
            _ => {}
        }
        let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await else {
            continue;
        };
        let Some(loan) = result.expect("no error") else { break };
        assert!(*loan == *part(seed, received, loan.len()), "after {received} bytes something else came");
        received += loan.len();
    }
    assert_eq!(received, TOTAL);
    close(&mut conn).await;
    writer.join().expect("no panic");
    (withdrawals, with_bytes)
}

/// A part of the stream with that seed.
fn part(seed: u64, start: usize, size: usize) -> Vec<u8> {
    let byte = |position: usize| ((position as u64 + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    (start..start + size).map(byte).collect()
}

/// Whether the connection had to withdraw something, or to wait.
async fn waits_for_readiness(conn: &mut CompioConn) -> bool {
    poll_fn(|cx| Poll::Ready(conn.poll_readable(cx))).await.is_pending()
}

async fn gives_up_a_detach(conn: &mut CompioConn) -> bool {
    poll_fn(|cx| match conn.poll_detach(cx) {
        Poll::Pending => Poll::Ready(true),
        Poll::Ready(detached) => {
            *conn = attach(detached.expect("detached"));
            Poll::Ready(false)
        }
    })
    .await
}

#[test]
fn a_connection_goes_on_after_a_detach_that_was_given_up() {
    run(&Config::default(), || async {
        let (mut conn, mut peer) = pair();
        for round in 0..100_u8 {
            assert!(poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await.is_pending());
            assert!(gives_up_a_detach(&mut conn).await);
            peer.write_all(&[round; 10]).expect("sent");
            assert_eq!(*recv(&mut conn).await.expect("no error").expect("not the end"), [round; 10]);
        }
        close(&mut conn).await;
    });
}
