//! A connection that we open does what one does that a client opens.

use std::net::{SocketAddr, TcpListener};

use corepool_core::backend::{Conn, Detached, Socket};
use corepool_core::outbound::all_closed;
use corepool_core::{Address, Connector, Duplex, Outbound, WorkerInfo};
use futures_util::{AsyncReadExt, AsyncWriteExt};

use crate::bench::{ConnExt, on, turn};
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{LOOPBACK, Life, Peer, TOO_MUCH, start};
use crate::process::descriptor_count;
use crate::task::spawn;

/// Fits into the buffers of a socket.
const LITTLE: usize = 10_000;

pub(super) fn exchanges_bytes<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| {
        peer.exchange(4 << 20);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut connection = connect::<B>(address).await;
        echo(&mut connection, 4 << 20).await;
        connection.finish().await.unwrap();
    });
    peer.join();
}

pub(super) fn many_at_once<B: SocketBackend>() {
    const MANY: usize = 200;
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    let peers = start(move || {
        let accept = |_| start_peer(listener.accept().unwrap().0.into());
        let peers: Vec<_> = (0..MANY).map(accept).collect();
        peers.into_iter().for_each(Life::join);
    });
    on::<B, _>(async || {
        let tasks = (0..MANY).map(|_| {
            spawn::<B, _>(async move {
                let mut connection = connect::<B>(address).await;
                echo(&mut connection, LITTLE).await;
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.join().await;
        }
    });
    peers.join();
}

fn start_peer(mut peer: Peer) -> Life<()> {
    start(move || {
        peer.exchange(LITTLE);
        peer.expect_over();
    })
}

pub(super) fn half_closes_both_ways<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| {
        peer.half_close();
        peer.expect_end()
    });
    on::<B, _>(async || {
        let mut connection = connect::<B>(address).await;
        assert!(connection.recv().await.unwrap().is_none());
        let mut sent = Pattern::default();
        connection.send(sent.take(LITTLE)).await.unwrap();
        connection.finish().await.unwrap();
        assert!(connection.recv().await.unwrap().is_none());
    });
    assert_eq!(peer.join(), LITTLE as u64);
}

/// The peer gets everything, although it has sent what nobody reads: a close at once would reset it.
pub(super) fn closes_politely<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| {
        peer.send(LITTLE);
        peer.expect_end()
    });
    on::<B, _>(async || {
        let mut connection = connect::<B>(address).await;
        let _first = connection.recv().await.unwrap();
        let mut sent = Pattern::default();
        connection.send(sent.take(LITTLE)).await.unwrap();
        connection.close().await;
    });
    assert_eq!(peer.join(), LITTLE as u64);
}

pub(super) fn as_streams<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| {
        peer.send(LITTLE);
        peer.half_close();
        peer.expect_end()
    });
    on::<B, _>(async || {
        let mut stream = connect::<B>(address).await.into_stream();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        Pattern::default().check(&bytes);
        stream.write_all(&bytes).await.unwrap();
        stream.close().await.unwrap();
        assert_eq!(bytes.len(), LITTLE);
    });
    assert_eq!(peer.join(), LITTLE as u64);
}

pub(super) fn idle_and_looked_after_it_holds_no_buffer<B: SocketBackend>() {
    let (go, gone) = async_channel::bounded::<()>(1);
    let (address, peer) = listening(move |mut peer| {
        let _told = gone.recv_blocking();
        peer.send(LITTLE);
    });
    on::<B, _>(async || {
        let worker = WorkerInfo::alone::<B>();
        let mut connection = connect::<B>(address).await.tended_by(&worker);
        let receiving = spawn::<B, _>(async move {
            let mut received = Pattern::default();
            while let Some(chunk) = connection.recv().await.unwrap() {
                received.check(&chunk);
            }
            received.position()
        });
        for _ in 0..3 {
            turn::<B>().await;
            worker.upkeep().sweep(B::now());
        }
        while B::lent_buffers() > 0 {
            turn::<B>().await;
        }
        drop(go);
        assert_eq!(receiving.join().await, LITTLE as u64);
    });
    peer.join();
}

/// Whatever is in flight.
pub(super) fn is_closed_when_it_is_dropped<B: SocketBackend>() {
    for [receiving, sending] in [[false, false], [true, false], [false, true], [true, true]] {
        let (go, gone) = async_channel::bounded::<()>(1);
        let (accepting, accepted) = async_channel::bounded::<()>(1);
        let (address, peer) = listening(move |mut peer| {
            drop(accepting);
            let _dropped = gone.recv_blocking();
            peer.expect_over();
        });
        on::<B, _>(async || {
            let mut connection = connect::<B>(address).await;
            let _accepted = accepted.recv().await;
            let open = descriptor_count();
            if receiving {
                let received = connection.recv();
                assert!(futures_util::poll!(std::pin::pin!(received)).is_pending());
            }
            if sending {
                let sent = connection.send(vec![0; TOO_MUCH]);
                assert!(futures_util::poll!(std::pin::pin!(sent)).is_pending());
            }
            turn::<B>().await;
            drop(connection);
            all_closed().await;
            assert_eq!(descriptor_count(), open - 1, "the descriptor is open");
            assert_eq!(B::lent_buffers(), 0);
            drop(go);
        });
        peer.join();
    }
}

pub(super) fn tells_both_addresses<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| peer.expect_over());
    on::<B, _>(async || {
        let socket = B::Socket::connect(&address.into()).unwrap();
        let mut conn = B::Conn::attach(Detached::from(socket)).unwrap();
        std::future::poll_fn(|cx| conn.poll_connected(cx)).await.unwrap();
        let socket = conn.detach().await.unwrap().socket;
        assert_eq!(socket.peer_addr().unwrap(), Address::from(address));
        assert!(matches!(socket.local_addr().unwrap(), Address::Ip(ours) if ours.ip() == address.ip()));
    });
    peer.join();
}

/// The life of a peer that accepts one connection, and where.
pub(super) fn listening<T: Send + 'static>(
    life: impl FnOnce(Peer) -> T + Send + 'static,
) -> (SocketAddr, Life<T>) {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    (address, start(move || life(listener.accept().unwrap().0.into())))
}

pub(super) async fn connect<B: SocketBackend>(address: SocketAddr) -> Outbound<B> {
    Connector::new().connect(&[address.into()]).await.unwrap()
}

/// Sends back the next `count` bytes of the peer's stream.
pub(super) async fn echo<B: SocketBackend>(connection: &mut Duplex<B>, count: usize) {
    let mut received = Pattern::default();
    while received.position() < count as u64 {
        let chunk = connection.recv().await.unwrap().expect("the stream has ended too soon");
        received.check(&chunk);
        connection.send(chunk).await.unwrap();
    }
    assert_eq!(received.position(), count as u64);
}
