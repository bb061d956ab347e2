//! Start and end of a server.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use async_channel::Receiver;
use corepool_core::{Backend, Config, Connection, Handler, StartError, WorkerInfo, start as start_server};

use crate::handlers::{Echo, Sleeper};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{LOOPBACK, Peer, start};
use crate::process::{accept_queue, exhaust_descriptors};
use crate::served::{config, serve};

pub(super) fn a_second_server_on_the_address_is_refused<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2), Echo);
    let address = server.address();
    for _ in 0..10 {
        let config = Config::new().listen(address).workers(2);
        match start_server::<B, _>(&config, &B::Config::default(), |_worker| Echo) {
            Err(StartError::Bind { source, .. }) => assert_eq!(source.kind(), ErrorKind::AddrInUse),
            other => panic!("{other:?}"),
        }
        let mut peer = server.connect();
        peer.exchange(1000);
    }
    server.end();
    serve::<B, _>(&Config::new().listen(address).workers(2), Echo).end();
}

pub(super) fn of_two_addresses_one_of_which_is_taken_neither_is_listened_on<B: SocketBackend>() {
    let taken = TcpListener::bind(LOOPBACK).unwrap();
    let free = TcpListener::bind(LOOPBACK).unwrap().local_addr().unwrap();
    let config = Config::new().listen(free).listen(taken.local_addr().unwrap()).workers(2);
    let refused = start_server::<B, _>(&config, &B::Config::default(), |_worker| Echo);
    assert!(matches!(refused, Err(StartError::Bind { .. })), "{refused:?}");
    assert_eq!(TcpStream::connect(free).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

pub(super) fn a_factory_that_panics_leaves_nothing_behind<B: SocketBackend>() {
    let factory = |worker: &WorkerInfo| {
        if worker.index == 1 {
            resume_unwind(Box::new("as was wished"));
        }
        Echo
    };
    let refused = start_server::<B, _>(&config(3), &B::Config::default(), factory);
    assert!(matches!(refused, Err(StartError::Worker { worker: 1, .. })), "{refused:?}");
}

pub(super) fn without_descriptors_it_does_not_start<B: SocketBackend>() {
    for left in 0..20 {
        // The more are left, the later it fails. One worker: of several, who gets the last ones is luck.
        let spare: Vec<_> = (0..left).map(|_| TcpListener::bind(LOOPBACK).unwrap()).collect();
        let exhausted = exhaust_descriptors();
        drop(spare);
        let started = start_server::<B, _>(&config(1), &B::Config::default(), |_worker| Echo);
        drop(exhausted);
        if let Ok(server) = started {
            server.handle().shutdown();
            assert!(server.join().is_clean());
        }
    }
}

pub(super) fn it_names_the_driver_that_runs<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    let stats = server.stats();
    assert_eq!(stats.backend, B::NAME);
    assert!(["epoll", "io_uring"].contains(&stats.driver), "{stats:?}");
    server.end();
}

pub(super) fn idle_connections_do_not_hold_up_a_shutdown<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).grace(Duration::from_secs(3600)), Echo);
    let mut peers: Vec<_> = (0..200).map(|_| server.connect()).collect();
    for peer in &mut peers {
        peer.exchange(1);
    }
    let handle = server.handle();
    handle.shutdown();
    for peer in &mut peers {
        peer.expect_end();
    }
    drop(peers);
    let stats = server.join();
    assert_eq!(stats.total(|counts| counts.completed), 200);
}

pub(super) fn the_grace_period_ends_what_does_not_end_itself<B: SocketBackend>() {
    let grace = Duration::from_millis(200);
    let server = serve::<B, _>(&config(1).grace(grace), Sleeper);
    let mut peers: Vec<_> = (0..20).map(|_| server.connect()).collect();
    server.until(|stats| stats.active() == 20);
    let begun = Instant::now();
    let stats = server.end();
    assert!(begun.elapsed() >= grace);
    assert_eq!(stats.total(|counts| counts.aborted), 20);
    for peer in &mut peers {
        peer.expect_over();
    }
}

pub(super) fn whoever_is_in_the_accept_queue_at_a_shutdown_is_served<B: SocketBackend>() {
    const CLIENTS: usize = 50;
    for _ in 0..5 {
        let (release, held) = async_channel::bounded(1);
        let server = serve::<B, _>(&config(1), Greeter { held });
        let mut peers: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
        // The worker is held up by its first client; the others are in the queue or have been accepted.
        let port = server.address().port();
        server.until(|stats| accept_queue(port) + stats.total(|counts| counts.accepted) == CLIENTS as u64);
        server.handle().shutdown();
        drop(release);
        for peer in &mut peers {
            peer.expect(GREETING);
            peer.expect_end();
        }
        drop(peers);
        let stats = server.join();
        assert_eq!(stats.total(|counts| counts.completed), CLIENTS as u64);
    }
}

pub(super) fn it_ends_while_clients_come_and_go<B: SocketBackend>() {
    for _ in 0..5 {
        let server = serve::<B, _>(&config(2), Echo);
        let address = server.address();
        let clients = start(move || {
            // Until the server has gone.
            while let Ok(stream) = TcpStream::connect(address) {
                let _reset = stream.shutdown(Shutdown::Write);
                Peer::from(stream).expect_over();
            }
        });
        server.until(|stats| stats.total(|counts| counts.completed) > 20);
        server.end();
        clients.join();
    }
}

pub(super) fn a_server_that_is_dropped_ends<B: SocketBackend>() {
    let server = start_server::<B, _>(&config(2), &B::Config::default(), |_worker| Echo).unwrap();
    let mut peer = Peer::connect(server.handle().addresses()[0]);
    peer.exchange(1);
    drop(server);
    peer.expect_end();
}

/// How much a greeter says, in bytes.
const GREETING: usize = 1000;

/// Says something without being asked; holds its whole worker up until it is released.
#[derive(Debug, Clone)]
struct Greeter {
    held: Receiver<()>,
}

impl<B: Backend> Handler<B> for Greeter {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        self.held.recv_blocking().unwrap_err();
        connection.send(Pattern::default().take(GREETING)).await
    }
}
