//! Sockets are taken in whatever blocking mode they are.

use std::net::TcpStream;

use corepool_os::StreamSocket;

use crate::bench::{ConnExt, attach, on, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{Peer, streams};
use crate::task::spawn;

pub(super) fn of_a_blocking_descriptor<B: SocketBackend>() {
    let (ours, theirs) = streams();
    serves::<B>(ours.into(), theirs);
}

pub(super) fn of_a_non_blocking_descriptor<B: SocketBackend>() {
    let (ours, theirs) = streams();
    ours.set_nonblocking(true).unwrap();
    serves::<B>(ours.into(), theirs);
}

pub(super) fn of_a_descriptor_that_is_known_to_be_non_blocking<B: SocketBackend>() {
    let (ours, theirs) = streams();
    ours.set_nonblocking(true).unwrap();
    serves::<B>(StreamSocket::known_nonblocking(ours.into()), theirs);
}

/// The connection works, and one that waits does not block the runtime.
fn serves<B: SocketBackend>(socket: StreamSocket, theirs: TcpStream) {
    let (go, peer) = Peer::from(theirs).spawn_on_signal(|mut peer| {
        peer.exchange(1 << 20);
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        assert!(conn.recv_once().await.is_pending());
        let other = spawn::<B, _>(async move {
            turn::<B>().await;
            go.send(()).await.unwrap();
        });
        let (mut sent, mut received) = (Pattern::default(), Pattern::default());
        while received.position() < 1 << 20 {
            let bytes = conn.recv().await.unwrap().unwrap();
            received.check(bytes.as_ref());
            conn.send_next(&mut sent, bytes.as_ref().len()).await;
        }
        other.join().await;
        conn.close().await;
    });
    peer.join();
}
