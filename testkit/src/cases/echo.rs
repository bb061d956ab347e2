//! Every byte comes back, in order, whatever the size.

use crate::bench::{ConnExt, attach, on};
use crate::harness::SocketBackend;
use crate::peer::pair;

pub(super) fn of_1_byte<B: SocketBackend>() {
    echo::<B>(1, 2000);
}

pub(super) fn of_512_bytes<B: SocketBackend>() {
    echo::<B>(512, 2000);
}

pub(super) fn of_16_kib<B: SocketBackend>() {
    echo::<B>(16 << 10, 500);
}

pub(super) fn of_1_mib<B: SocketBackend>() {
    echo::<B>(1 << 20, 10);
}

pub(super) fn of_64_mib_streamed<B: SocketBackend>() {
    echo::<B>(64 << 20, 1);
}

fn echo<B: SocketBackend>(bytes: usize, times: usize) {
    let (socket, peer) = pair();
    let peer = peer.spawn(move |mut peer| {
        for _ in 0..times {
            peer.exchange(bytes);
        }
        peer.half_close();
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut conn = attach::<B>(socket);
        conn.echo().await.unwrap();
        conn.close().await;
    });
    peer.join();
}
