//! Unix-domain sockets are connected to as TCP is.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use corepool_core::{Address, Connector};
use socket2::{Domain, SockAddr, Socket, Type};

use super::connect::echo;
use super::connect_fails::fail;
use crate::bench::{ConnExt, attach, on, turn};
use crate::harness::SocketBackend;
use crate::peer::{Peer, start};

pub(super) fn exchanges_bytes<B: SocketBackend>() {
    let path = Path::new();
    let listener = UnixListener::bind(&path.0).unwrap();
    serves::<B>(listener, &path.address());
}

pub(super) fn to_an_abstract_name<B: SocketBackend>() {
    let name = PathBuf::from(format!("\0corepool-{}-{}", std::process::id(), fastrand::u64(..)));
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    socket.bind(&SockAddr::unix(&name).unwrap()).unwrap();
    socket.listen(1).unwrap();
    serves::<B>(OwnedFd::from(socket).into(), &Address::Unix(name));
}

fn serves<B: SocketBackend>(listener: UnixListener, address: &Address) {
    let peer = start(move || {
        let mut peer = Peer::from_unix(listener.accept().unwrap().0);
        peer.exchange(1 << 20);
        peer.expect_end();
    });
    on::<B, _>(async || {
        let mut connection = Connector::new().connect::<B>(std::slice::from_ref(address)).await.unwrap();
        echo(&mut connection, 1 << 20).await;
        connection.finish().await.unwrap();
        assert!(connection.recv().await.unwrap().is_none());
    });
    peer.join();
}

/// As a connection does that has been idle for a second.
pub(super) fn waits_without_a_buffer<B: SocketBackend>() {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let (go, peer) = Peer::from_unix(theirs).spawn_on_signal(|mut peer| peer.send(100));
    on::<B, _>(async || {
        let mut conn = attach::<B>(B::Socket::from(OwnedFd::from(ours)));
        for _ in 0..3 {
            assert!(conn.readable_once().await.is_pending());
            turn::<B>().await;
        }
        assert_eq!(B::lent_buffers(), 0);
        go.send(()).await.unwrap();
        conn.readable().await.unwrap();
        assert_eq!(conn.recv().await.unwrap().unwrap().as_ref().len(), 100);
        conn.close().await;
    });
    peer.join();
}

pub(super) fn where_no_file_is<B: SocketBackend>() {
    let path = Path::new();
    on::<B, _>(async || {
        let error = fail::<B>(Connector::new().connect(&[path.address()]).await);
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains(path.0.to_str().unwrap()), "{error}");
    });
}

pub(super) fn waits_while_the_queue_is_full<B: SocketBackend>() {
    let path = Path::new();
    let (listener, _waiting) = full(&path);
    let (go, gone) = async_channel::bounded::<()>(1);
    let peer = start(move || {
        let _begun = gone.recv_blocking();
        listener.accept().unwrap();
        Peer::from_unix(listener.accept().unwrap().0).exchange(1000);
    });
    on::<B, _>(async || {
        let (connector, addresses) = (Connector::new(), [path.address()]);
        let mut connecting = std::pin::pin!(connector.connect::<B>(&addresses));
        assert!(futures_util::poll!(connecting.as_mut()).is_pending());
        drop(go);
        let mut connection = connecting.await.unwrap();
        echo(&mut connection, 1000).await;
    });
    peer.join();
}

pub(super) fn gives_up_when_the_queue_stays_full<B: SocketBackend>() {
    let path = Path::new();
    let _full = full(&path);
    on::<B, _>(async || {
        let connector = Connector::new().deadline(Duration::from_millis(50));
        let error = fail::<B>(connector.connect(&[path.address()]).await);
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

/// A listener whose queue is full, and what fills it.
fn full(path: &Path) -> (UnixListener, Socket) {
    let [listener, waiting] = [(); 2].map(|()| Socket::new(Domain::UNIX, Type::STREAM, None).unwrap());
    let address = SockAddr::unix(&path.0).unwrap();
    listener.bind(&address).unwrap();
    listener.listen(0).unwrap(); // room for one
    waiting.connect(&address).unwrap();
    (OwnedFd::from(listener).into(), waiting)
}

/// The path of a socket, whose file is removed.
struct Path(PathBuf);

impl Path {
    fn new() -> Self {
        let name = format!("corepool-{}-{}.sock", std::process::id(), fastrand::u64(..));
        Self(std::env::temp_dir().join(name))
    }

    fn address(&self) -> Address {
        self.0.clone().into()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _none = std::fs::remove_file(&self.0);
    }
}
