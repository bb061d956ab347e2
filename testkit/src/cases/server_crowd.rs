//! Clients that do not read: they cost the server little memory, and nobody else anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::Peer;
use crate::process::kernel_buffers_max;
use crate::served::{config, serve};

pub(super) fn a_slow_reader_is_not_read_from_for_ever<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    let mut peer = server.connect();
    let bound = kernel_buffers_max() + (1 << 20);
    let taken = peer.send_until_stuck(2 * bound, Duration::from_secs(1));
    assert!(taken < bound, "{taken} bytes were taken: the server keeps what the kernel cannot");
    peer.expect(taken);
    peer.exchange(100_000);
    drop(peer);
    server.end();
}

pub(super) fn one_that_never_stops_does_not_starve_another<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    let enough = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&enough);
    let greedy = server.connect().spawn(move |mut peer| peer.exchange_until(|| told.load(Ordering::Relaxed)));
    let mut modest = server.connect();
    for _ in 0..500 {
        modest.exchange(1);
    }
    enough.store(true, Ordering::Relaxed);
    greedy.join();
    drop(modest);
    server.end();
}

pub(super) fn a_thousand_that_do_not_read_leave_one_served<B: SocketBackend>() {
    const CROWD: usize = 1000;
    let server = serve::<B, _>(&config(1), Echo);
    let mut crowd: Vec<_> = (0..CROWD).map(|_| Peer::connect_narrow(server.address())).collect();
    for peer in &mut crowd {
        peer.send_until_stuck(64 << 10, Duration::from_millis(1));
    }
    server.until(|stats| stats.active() == CROWD as u64);
    let mut reader = server.connect();
    for _ in 0..1000 {
        reader.exchange(512);
    }
    drop((reader, crowd));
    server.end();
}
