//! The sending direction of a connection. A send that has begun is never withdrawn.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use corepool_core::backend::SendBuf;
use corepool_core::buffer::Buffer;
use monoio::io::{AsyncWriteRent, OwnedWriteHalf};
use monoio::net::TcpStream;

use crate::bytes::{Outgoing, OutgoingKey};
use crate::lane::{Desk, Lane};

/// The half of a connection that sends. monoio shuts the socket down for writing when one is dropped alone;
/// ours are reunited with the other half.
pub(crate) type WriteHalf = OwnedWriteHalf<TcpStream>;

/// Sends on one connection.
pub(crate) struct Sender {
    lane: Lane<Outgoing, io::Result<()>, WriteHalf>,
}

impl Sender {
    pub(crate) fn new(half: WriteHalf) -> Self {
        Self { lane: Lane::new(half, send_all) }
    }

    /// Whether a send has begun whose outcome has not been taken.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.lane.is_busy()
    }

    /// Begins to send all of `bytes`.
    #[inline]
    pub(crate) fn send(&mut self, bytes: SendBuf<Buffer>) {
        self.lane.begin();
        self.lane.shared().set(bytes);
    }

    /// Begins to send nothing. On a socket that is being connected, the kernel completes that when it is connected, or
    /// with the error that connecting has ended in.
    pub(crate) fn send_nothing(&mut self) {
        self.lane.begin();
        self.lane.shared().set_nothing();
    }

    /// Waits until all has been sent, or an error; then what was to be sent is dropped.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = ready!(self.lane.poll(cx));
        self.lane.shared().clear();
        Poll::Ready(outcome)
    }

    /// The half of the socket. Nothing may be in flight.
    pub(crate) fn into_half(self) -> WriteHalf {
        self.lane.into_half()
    }
}

async fn send_all(half: &mut WriteHalf, outgoing: &Rc<Desk<Outgoing, io::Result<()>>>) -> io::Result<()> {
    if outgoing.is_nothing() {
        let (result, _key) = half.write(OutgoingKey::lock(outgoing)).await;
        return result.map(drop);
    }
    while !outgoing.is_over() {
        let (result, _key) = half.write(OutgoingKey::lock(outgoing)).await;
        match result? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => outgoing.advance(count),
        }
    }
    Ok(())
}
