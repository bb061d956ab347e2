//! Connections to another server, kept in a pool.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use corepool_core::pool::{AcquireError, Lease, Upstream};
use corepool_core::{Duplex, LocalPool, Outbound, WorkerInfo};

use crate::bench::{on, turn};
use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{LOOPBACK, nobody, start};
use crate::served::{config, serve};

type Connections<B> = LocalPool<Outbound<B>>;

/// A pool of one connection.
fn one<B: SocketBackend>(address: SocketAddr) -> Connections<B> {
    LocalPool::builder().max_size(1).build(&WorkerInfo::alone::<B>(), Upstream::new([address])).unwrap()
}

pub(super) fn a_connection_whose_exchange_is_over_is_used_again<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    on::<B, _>(async || {
        let pool = one::<B>(server.address());
        for question in [&b"one"[..], b"another", b"a third"] {
            let mut lease = pool.get().await.unwrap();
            exchange(&mut lease, question).await;
            lease.settle();
        }
        assert_eq!((pool.stats().created, pool.stats().retired.total()), (1, 0));
        pool.close();
    });
    server.end();
}

/// The lesson of that name: the rest of an answer must not come to the next user.
pub(super) fn outbound_connection_returned_dirty<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    on::<B, _>(async || {
        let pool = one::<B>(server.address());
        for received in [false, true] {
            let mut lease = pool.get().await.unwrap();
            lease.send("asked, and given up").await.unwrap();
            if received {
                let _some = lease.recv().await.unwrap();
            }
            drop(lease);
            let mut lease = pool.get().await.unwrap();
            exchange(&mut lease, b"asked by another").await;
            lease.settle();
        }
        let mut lease = pool.get().await.unwrap();
        lease.settle();
        let unflushed = lease.send(vec![0; crate::peer::TOO_MUCH]);
        assert!(futures_util::poll!(std::pin::pin!(unflushed)).is_pending());
        lease.settle(); // which is not true
        drop(lease);
        assert_eq!((pool.stats().created, pool.stats().retired.recycle), (3, 3));
        pool.close();
    });
    server.end();
}

pub(super) fn one_with_something_to_receive_is_not_used_again<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Echo);
    on::<B, _>(async || {
        let pool = one::<B>(server.address());
        let mut lease = pool.get().await.unwrap();
        lease.send("asked, and not waited for").await.unwrap();
        lease.settle(); // which is not true
        drop(lease);
        // The answer comes now, or has come.
        while pool.stats().retired.total() == 0 {
            turn::<B>().await;
            let mut lease = pool.get().await.unwrap();
            lease.settle();
        }
        let mut lease = pool.get().await.unwrap();
        exchange(&mut lease, b"asked by another").await;
        Lease::discard(lease);
    });
    server.end();
}

pub(super) fn one_that_its_peer_has_closed_is_not_lent_out<B: SocketBackend>() {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let address = listener.local_addr().unwrap();
    let (closing, closed) = async_channel::bounded(1);
    let peer = start(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            stream.write_all(&byte).unwrap();
            drop(stream);
            closing.send_blocking(()).unwrap();
        }
    });
    on::<B, _>(async || {
        let pool = one::<B>(address);
        for created in 1..=2 {
            let mut lease = pool.get().await.unwrap();
            assert_eq!(pool.stats().created, created);
            exchange(&mut lease, b"?").await;
            lease.settle();
            drop(lease);
            closed.recv().await.unwrap();
            turn::<B>().await;
            turn::<B>().await;
        }
        assert!(pool.try_get().is_none());
    });
    peer.join();
}

pub(super) fn where_nobody_listens_the_error_names_the_address<B: SocketBackend>() {
    let address = nobody();
    on::<B, _>(async || {
        let error = one::<B>(address).get().await.unwrap_err();
        assert!(matches!(error, AcquireError::Create(_)));
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    });
}

/// Sends something to an echo and waits for all of it.
pub(super) async fn exchange<B: SocketBackend>(connection: &mut Duplex<B>, question: &[u8]) {
    connection.send(question.to_vec()).await.unwrap();
    let mut answer = Vec::new();
    while answer.len() < question.len() {
        answer.extend_from_slice(&connection.recv().await.unwrap().expect("an answer"));
    }
    assert_eq!(answer, question);
}
