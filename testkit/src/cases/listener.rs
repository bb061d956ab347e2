//! Listening: no connection is lost, and nothing is left behind.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use corepool_core::backend::{Bind, Listener, Socket};
use rustix::fs::OFlags;
use rustix::io::FdFlags;
use socket2::SockRef;

use crate::bench::{ConnExt, ListenerExt, attach, on, race, turn};
use crate::harness::SocketBackend;
use crate::peer::{LOOPBACK, Peer, start};
use crate::process::descriptor_count;
use crate::task::spawn;

pub(super) fn accepts_every_connection_once<B: SocketBackend>() {
    const CLIENTS: usize = 300;
    let (address, bound) = B::bind(&bind(LOOPBACK, 2)).unwrap();
    let clients = start(move || {
        for _ in 0..CLIENTS / 3 {
            let mut burst: [_; 3] = std::array::from_fn(|_| Peer::connect(address));
            for client in &mut burst {
                client.exchange(1);
                client.half_close();
                client.expect_end();
            }
        }
    });
    on::<B, _>(async || {
        let mut group: Vec<_> = bound.into_iter().map(|bound| B::Listener::attach(bound).unwrap()).collect();
        let mut serving = Vec::new();
        while serving.len() < CLIENTS {
            let [first, second] = group.as_mut_slice() else { unreachable!("two listeners") };
            // One of the two waits is dropped each time.
            let (Ok(ready) | Err(ready)) = race(first.ready(), second.ready()).await;
            ready.unwrap();
            for listener in &mut group {
                while let Some((socket, _peer)) = listener.try_accept().unwrap() {
                    serving.push(spawn::<B, _>(async {
                        let mut conn = attach::<B>(socket);
                        conn.echo().await.unwrap();
                        conn.close().await;
                    }));
                }
            }
        }
        for task in serving {
            task.join().await;
        }
        for listener in &mut group {
            listener.close().await;
        }
    });
    clients.join();
}

pub(super) fn waits_again_when_its_queue_is_empty<B: SocketBackend>() {
    let (address, bound) = B::bind(&bind(LOOPBACK, 1)).unwrap();
    let (go, gone) = async_channel::bounded::<()>(1);
    let clients = start(move || {
        while gone.recv_blocking().is_ok() {
            Peer::connect(address).expect_over();
        }
    });
    on::<B, _>(async move || {
        let mut listener = only::<B>(bound);
        for _ in 0..50 {
            assert!(listener.try_accept().unwrap().is_none());
            assert!(listener.ready_once().await.is_pending());
            go.send(()).await.unwrap();
            let accepted = loop {
                listener.ready().await.unwrap();
                if let Some((socket, peer)) = listener.try_accept().unwrap() {
                    assert_eq!(socket.peer_addr().unwrap(), peer.into());
                    break socket;
                }
            };
            drop(accepted);
        }
        listener.close().await;
    });
    clients.join();
}

pub(super) fn gives_sockets_that_any_runtime_can_take<B: SocketBackend>() {
    let (address, bound) = B::bind(&bind(LOOPBACK, 1)).unwrap();
    let _client = TcpStream::connect(address).unwrap();
    on::<B, _>(async || {
        let mut listener = only::<B>(bound);
        listener.ready().await.unwrap();
        let (socket, _peer) = listener.try_accept().unwrap().unwrap();
        let fd = OwnedFd::from(socket);
        assert!(rustix::fs::fcntl_getfl(&fd).unwrap().contains(OFlags::NONBLOCK));
        assert!(rustix::io::fcntl_getfd(&fd).unwrap().contains(FdFlags::CLOEXEC));
        assert!(SockRef::from(&fd).tcp_nodelay().unwrap());
        listener.close().await;
    });
}

pub(super) fn closes_while_it_waits<B: SocketBackend>() {
    for turns in 0..3 {
        let (address, bound) = B::bind(&bind(LOOPBACK, 1)).unwrap();
        on::<B, _>(async || {
            let open = descriptor_count();
            let mut listener = only::<B>(bound);
            assert!(listener.ready_once().await.is_pending());
            for _ in 0..turns {
                turn::<B>().await;
            }
            listener.close().await;
            // Its own, and the one in reserve while anybody listens.
            assert_eq!(descriptor_count(), open - 2, "a descriptor is open");
            listener.close().await;
            let refused = TcpStream::connect(address).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        });
    }
}

pub(super) fn claims_its_address<B: SocketBackend>() {
    let (address, group) = B::bind(&bind(LOOPBACK, 3)).unwrap();
    assert!(address.port() != 0 && group.len() == 3);
    let refused = B::bind(&bind(address, 1)).map(|_group| ()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    drop(group);
    B::bind(&bind(address, 1)).unwrap();
}

fn bind(address: SocketAddr, listeners: usize) -> Bind {
    Bind { address, listeners, backlog: 1024, v6_only: false }
}

fn only<B: SocketBackend>(mut bound: Vec<<B::Listener as Listener>::Bound>) -> B::Listener {
    let only = bound.pop().unwrap();
    assert!(bound.is_empty());
    B::Listener::attach(only).unwrap()
}
