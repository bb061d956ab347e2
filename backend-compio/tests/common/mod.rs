//! What the tests of this crate share: a runtime for a while, connected pairs, and a connection's methods as futures.
#![allow(dead_code, reason = "each test uses its part")]

use std::future::poll_fn;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::task::Poll;

use corepool_compio::{Compio, CompioConn, Config};
use corepool_core::backend::{Backend, Conn, Detached};
use corepool_core::buffer::Buffer;
use corepool_os::StreamSocket;

/// Drives a future on a runtime on this thread.
pub(crate) fn run<F: Future>(config: &Config, root: impl FnOnce() -> F) -> F::Output {
    Compio::run(None, config, |_driver| root()).expect("a runtime")
}

/// A connection on this thread's runtime, and its peer.
pub(crate) fn pair() -> (CompioConn, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let peer = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    peer.set_nodelay(true).expect("no delay");
    let (accepted, _) = listener.accept().expect("its other end");
    (attach(Detached::from(StreamSocket::from(accepted))), peer)
}

pub(crate) fn attach(detached: Detached<StreamSocket>) -> CompioConn {
    CompioConn::attach(detached).expect("attached")
}

pub(crate) async fn recv(conn: &mut CompioConn) -> io::Result<Option<Buffer>> {
    poll_fn(|cx| conn.poll_recv(cx)).await
}

/// The next `count` bytes.
pub(crate) async fn recv_exact(conn: &mut CompioConn, count: usize) -> Vec<u8> {
    let mut received = Vec::new();
    while received.len() < count {
        received.extend_from_slice(&recv(conn).await.expect("no error").expect("not the end"));
    }
    received
}

pub(crate) async fn detach(conn: &mut CompioConn) -> io::Result<Detached<StreamSocket>> {
    poll_fn(|cx| conn.poll_detach(cx)).await
}

pub(crate) async fn close(conn: &mut CompioConn) {
    poll_fn(|cx| conn.poll_close(cx)).await;
}

/// Polls every connection once, all in the same turn, and says how many are ready.
pub(crate) async fn once<T>(
    conns: &mut [CompioConn],
    poll: impl Fn(&mut CompioConn, &mut std::task::Context<'_>) -> Poll<T>,
) -> usize {
    poll_fn(|cx| Poll::Ready(conns.iter_mut().filter_map(|conn| ready(poll(conn, cx))).count())).await
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    match poll {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Gives the ring a turn.
pub(crate) async fn turn() {
    let mut turned = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut turned, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
