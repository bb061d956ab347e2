//! What the runtime's side of a case is made of: a runtime for a while, tasks that are counted, and a
//! connection's methods as futures.

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use corepool_core::backend::{Backend, Conn, Detached, Listener, SendBuf};
use corepool_core::outbound::all_closed;
use futures_util::FutureExt;
use futures_util::future::{Either, select};

use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::TOO_MUCH;
use crate::task;

/// Runs a future on a runtime on this thread, and asserts that it leaves no task and no lent buffer.
pub(crate) fn on<B: SocketBackend, F: Future>(root: impl FnOnce() -> F) -> F::Output {
    let output = B::run(None, &B::Config::default(), |_driver| {
        // No panic may pass through a runtime: some do not survive it.
        let guarded = AssertUnwindSafe(async { root().await }).catch_unwind();
        async move {
            let output = guarded.await;
            all_closed().await;
            (output, task::live(), B::lent_buffers())
        }
    });
    let (output, tasks, buffers) = output.unwrap_or_else(|error| panic!("{error}"));
    let output = output.unwrap_or_else(|panic| resume_unwind(panic));
    assert_eq!((tasks, buffers), (0, 0), "(tasks, lent buffers) are left behind");
    output
}

/// A connection's methods as futures. Dropping one of them stops polling, and nothing else.
pub(crate) trait ConnExt: Conn {
    async fn recv(&mut self) -> io::Result<Option<Self::Loan>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls the receive once.
    async fn recv_once(&mut self) -> Poll<io::Result<Option<Self::Loan>>> {
        poll_fn(|cx| Poll::Ready(self.poll_recv(cx))).await
    }

    async fn readable(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_readable(cx)).await
    }

    async fn readable_once(&mut self) -> Poll<io::Result<()>> {
        poll_fn(|cx| Poll::Ready(self.poll_readable(cx))).await
    }

    async fn send(&mut self, bytes: SendBuf<Self::Loan>) -> io::Result<()> {
        self.start_send(bytes);
        self.flush().await
    }

    async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    async fn flush_once(&mut self) -> Poll<io::Result<()>> {
        poll_fn(|cx| Poll::Ready(self.poll_flush(cx))).await
    }

    async fn detach(&mut self) -> io::Result<Detached<Self::Socket>> {
        poll_fn(|cx| self.poll_detach(cx)).await
    }

    async fn detach_once(&mut self) -> Poll<io::Result<Detached<Self::Socket>>> {
        poll_fn(|cx| Poll::Ready(self.poll_detach(cx))).await
    }

    async fn close(&mut self) {
        poll_fn(|cx| self.poll_close(cx)).await;
    }

    async fn close_once(&mut self) -> Poll<()> {
        poll_fn(|cx| Poll::Ready(self.poll_close(cx))).await
    }

    /// Receives the next `count` bytes of the peer's stream, no fewer and no more.
    async fn expect(&mut self, received: &mut Pattern, count: usize) {
        let end = received.position() + count as u64;
        while received.position() < end {
            let bytes = self.recv().await.unwrap().expect("the stream has ended too soon");
            received.check(bytes.as_ref());
        }
        assert_eq!(received.position(), end, "more was received than was sent");
    }

    /// Receives what is left of the peer's stream, to its end.
    async fn expect_end(&mut self, received: &mut Pattern) {
        while let Some(bytes) = self.recv().await.unwrap() {
            received.check(bytes.as_ref());
        }
    }

    /// Sends the next `count` bytes of our stream.
    async fn send_next(&mut self, sent: &mut Pattern, count: usize) {
        self.send(SendBuf::Vec(sent.take(count))).await.unwrap();
    }

    /// Sends everything back until the end of the stream.
    async fn echo(&mut self) -> io::Result<()> {
        while let Some(bytes) = self.recv().await? {
            self.send(SendBuf::Loan(bytes)).await?;
        }
        Ok(())
    }
}

impl<C: Conn> ConnExt for C {}

/// A listener's methods as futures.
pub(crate) trait ListenerExt: Listener {
    async fn ready(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_ready(cx)).await
    }

    async fn ready_once(&mut self) -> Poll<io::Result<()>> {
        poll_fn(|cx| Poll::Ready(self.poll_ready(cx))).await
    }

    async fn close(&mut self) {
        poll_fn(|cx| self.poll_close(cx)).await;
    }
}

impl<L: Listener> ListenerExt for L {}

/// A connection on the runtime of this thread.
pub(crate) fn attach<B: SocketBackend>(socket: impl Into<Detached<B::Socket>>) -> B::Conn {
    B::Conn::attach(socket.into()).unwrap()
}

/// Begins to send more than the connection holds, and gets so far that the send waits for the peer to read.
pub(crate) async fn stall<B: SocketBackend>(conn: &mut B::Conn, sent: &mut Pattern) {
    conn.start_send(SendBuf::Vec(sent.take(TOO_MUCH)));
    for _ in 0..3 {
        assert!(conn.flush_once().await.is_pending());
        turn::<B>().await;
    }
}

/// Gives the runtime a turn of its event loop.
pub(crate) async fn turn<B: Backend>() {
    B::sleep(Duration::from_micros(100)).await;
}

/// Races two futures and drops the slower one.
pub(crate) async fn race<A, B>(
    first: impl Future<Output = A>,
    second: impl Future<Output = B>,
) -> Result<A, B> {
    match select(pin!(first), pin!(second)).await {
        Either::Left((output, _dropped)) => Ok(output),
        Either::Right((output, _dropped)) => Err(output),
    }
}
