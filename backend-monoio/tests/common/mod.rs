//! What the tests share: a runtime for a while, and a connection with a blocking peer.
#![allow(dead_code, reason = "no test uses all of it")]

use std::net::{TcpListener, TcpStream};
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use corepool_core::backend::{Backend, Conn, Detached};
use corepool_monoio::{Config, Monoio, MonoioConn};
use corepool_os::StreamSocket;

/// A test that takes longer than this is stuck; the slowest takes a few seconds.
const STUCK_AFTER: Duration = Duration::from_secs(120);

/// Runs a test on a thread of its own, and fails when it is stuck.
pub(crate) fn watched(test: impl FnOnce() + Send + 'static) {
    let (over, is_over) = channel::<()>();
    let thread = thread::spawn(move || {
        let _over = over; // dropped at the end, panicking or not
        test();
    });
    let waited = is_over.recv_timeout(STUCK_AFTER);
    assert_ne!(waited, Err(RecvTimeoutError::Timeout), "stuck for {STUCK_AFTER:?}");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// Runs a future on a runtime of this thread.
pub(crate) fn on_a_runtime<F: Future>(root: impl FnOnce() -> F) -> F::Output {
    Monoio::run(None, &Config::default(), |_driver| root()).expect("a runtime")
}

/// Both ends of a connection, ours first; blocking.
pub(crate) fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let theirs = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (ours, _) = listener.accept().expect("a connection");
    ours.set_nodelay(true).expect("an option");
    theirs.set_nodelay(true).expect("an option");
    (ours, theirs)
}

/// The connection on the runtime of this thread.
pub(crate) fn attach(stream: TcpStream) -> MonoioConn {
    MonoioConn::attach(Detached::from(StreamSocket::from(stream))).expect("attached")
}

/// Gives the runtime a turn of its loop.
pub(crate) async fn turn() {
    Monoio::sleep(Duration::from_micros(100)).await;
}

/// How many descriptors this process has open.
pub(crate) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("a listing").count()
}
