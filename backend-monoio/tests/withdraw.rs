//! A receive is withdrawn thousands of times while bytes stream in, at every moment of its life, and none is
//! lost: what a withdrawn receive had brought is kept, and what it had not is still in the socket.

mod common;

use std::future::poll_fn;
use std::io::Write;
use std::task::Poll;
use std::thread;

use corepool_core::backend::{Backend, Conn, Detached, Loan};
use corepool_monoio::{Monoio, MonoioConn};

use common::{attach, on_a_runtime, pair, turn, watched};

/// How often a receive is withdrawn.
const TIMES: usize = 5_000;

/// How many bytes are sent, in runs of every length up to a few pages.
const SENT: u64 = 24 << 20;

/// The byte at a position of the stream. Its period is no power of two, so that a lost buffer would show.
fn byte_at(position: u64) -> u8 {
    (position % 251) as u8 ^ (position / 251 % 253) as u8
}

/// Follows the stream, and says where it breaks.
#[derive(Default)]
struct Received(u64);

impl Received {
    fn check(&mut self, bytes: &impl Loan) {
        for byte in bytes.as_ref() {
            assert_eq!(*byte, byte_at(self.0), "at byte {} of the stream", self.0);
            self.0 += 1;
        }
    }
}

/// Sends the stream from another thread: now fast, now slow, so that receives are found waiting, running and
/// done.
fn stream(mut peer: std::net::TcpStream) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(1);
        let mut position = 0;
        while position < SENT {
            let end = SENT.min(position + random.u64(1..8_000));
            let run: Vec<_> = (position..end).map(byte_at).collect();
            peer.write_all(&run).expect("the other end receives");
            position = end;
            for _ in 0..random.u32(0..3) {
                thread::yield_now();
            }
        }
    })
}

/// Polls a receive once or a few times, and takes what it brought.
async fn receive_a_little(conn: &mut MonoioConn, random: &mut fastrand::Rng, received: &mut Received) {
    for _ in 0..random.u32(1..3) {
        if let Poll::Ready(bytes) = poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await {
            received.check(&bytes.expect("no error").expect("no end"));
        }
        if random.u32(0..3) == 0 {
            turn().await;
        }
    }
}

async fn receive_the_rest(conn: &mut MonoioConn, received: &mut Received) {
    while let Some(bytes) = poll_fn(|cx| conn.poll_recv(cx)).await.expect("no error") {
        received.check(&bytes);
    }
    assert_eq!(received.0, SENT);
}

#[test]
fn by_a_detach_loses_nothing() {
    watched(|| {
        let (socket, peer) = pair();
        let streaming = stream(peer);
        let (quiet, brought) = on_a_runtime(async || {
            let (mut random, mut received) = (fastrand::Rng::with_seed(2), Received::default());
            let (mut quiet, mut brought) = (0, 0);
            let mut conn = attach(socket);
            for _ in 0..TIMES {
                receive_a_little(&mut conn, &mut random, &mut received).await;
                if received.0 > SENT / 2 {
                    break;
                }
                let Detached { socket, unread } = poll_fn(|cx| conn.poll_detach(cx)).await.expect("a socket");
                *if unread.is_empty() { &mut quiet } else { &mut brought } += 1;
                conn = MonoioConn::attach(Detached { socket, unread }).expect("attached");
            }
            receive_the_rest(&mut conn, &mut received).await;
            poll_fn(|cx| conn.poll_close(cx)).await;
            (quiet, brought)
        });
        streaming.join().expect("all was sent");
        // Otherwise this has tried nothing.
        assert!(
            quiet > 10 && brought > 10,
            "{quiet} receives were withdrawn before they brought bytes, {brought} after"
        );
    });
}

#[test]
fn by_a_wait_loses_nothing() {
    watched(|| {
        let (socket, peer) = pair();
        let streaming = stream(peer);
        on_a_runtime(async || {
            let (mut random, mut received) = (fastrand::Rng::with_seed(3), Received::default());
            let mut conn = attach(socket);
            for _ in 0..TIMES {
                receive_a_little(&mut conn, &mut random, &mut received).await;
                if received.0 > SENT / 2 {
                    break;
                }
                // Given up at once, after a turn, or seen to its end.
                match random.u32(0..3) {
                    0 => _ = poll_fn(|cx| Poll::Ready(conn.poll_readable(cx))).await,
                    1 => {
                        _ = poll_fn(|cx| Poll::Ready(conn.poll_readable(cx))).await;
                        turn().await;
                    }
                    _ => {
                        poll_fn(|cx| conn.poll_readable(cx)).await.expect("no error");
                        // It may hold what a withdrawn receive had brought, and nothing else.
                        assert!(Monoio::lent_buffers() <= 1);
                    }
                }
            }
            receive_the_rest(&mut conn, &mut received).await;
            poll_fn(|cx| conn.poll_close(cx)).await;
        });
        streaming.join().expect("all was sent");
    });
}

#[test]
fn by_a_detach_that_is_given_up_loses_nothing() {
    watched(|| {
        let (socket, peer) = pair();
        let streaming = stream(peer);
        on_a_runtime(async || {
            let (mut random, mut received) = (fastrand::Rng::with_seed(4), Received::default());
            let mut conn = attach(socket);
            for _ in 0..TIMES {
                receive_a_little(&mut conn, &mut random, &mut received).await;
                if received.0 > SENT / 2 {
                    break;
                }
                if let Poll::Ready(detached) = poll_fn(|cx| Poll::Ready(conn.poll_detach(cx))).await {
                    conn = MonoioConn::attach(detached.expect("a socket")).expect("attached");
                }
            }
            receive_the_rest(&mut conn, &mut received).await;
            poll_fn(|cx| conn.poll_close(cx)).await;
        });
        streaming.join().expect("all was sent");
    });
}
