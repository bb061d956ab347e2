//! The receiving direction of a connection, and how a receive is withdrawn without losing a byte.
//!
//! A receive that monoio is made to drop loses what the kernel had already received for it. So none is dropped
//! here: a withdrawn receive is cancelled, and polled until it says what became of it. Either it brought
//! bytes, or the kernel says that it did nothing.
//!
//! Readiness is a receive of no bytes: on a TCP socket the kernel completes it when there is something to
//! receive, an end or an error included, and takes nothing. monoio's own readiness, a poll, cannot be
//! cancelled, only dropped; and nobody learns when the kernel has let go of it.

use std::io;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use corepool_core::buffer::Buffer;
use monoio::io::{CancelableAsyncReadRent, OwnedReadHalf};
use monoio::net::TcpStream;
use rustix::io::Errno;

use crate::bytes::{Landing, LandingKey};
use crate::lane::{Desk, Lane};

/// The half of a connection that receives.
pub(crate) type ReadHalf = OwnedReadHalf<TcpStream>;

/// Receives on one connection: nothing, one receive, or one wait for readiness is in flight.
pub(crate) struct Receiver {
    lane: Lane<Landing, io::Result<usize>, ReadHalf>,
    flight: Flight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flight {
    Nothing,
    Receive,
    Wait,
    Withdrawn,
}

/// What an operation in flight came to.
pub(crate) enum Arrival {
    /// At least one byte.
    Bytes(Buffer),
    /// The peer sends no more.
    End,
    /// A wait for readiness is over.
    Readiness,
    /// The operation was withdrawn, and did nothing.
    Withdrawn,
    /// The socket reported an error.
    Failure(io::Error),
}

impl Receiver {
    pub(crate) fn new(half: ReadHalf) -> Self {
        let lane = Lane::new(half, async |half: &mut ReadHalf, landing: &Rc<Desk<Landing, _>>| {
            let cancel = landing.canceller.borrow().handle();
            let (result, _key) = half.cancelable_read(LandingKey::lock(landing), cancel).await;
            result
        });
        Self { lane, flight: Flight::Nothing }
    }

    /// Whether something is in flight.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.flight != Flight::Nothing
    }

    /// Whether a receive is in flight that has a buffer, and has not been withdrawn.
    pub(crate) fn is_receiving(&self) -> bool {
        self.flight == Flight::Receive
    }

    /// Begins to receive into a buffer. Nothing may be in flight.
    #[inline]
    pub(crate) fn receive(&mut self, buffer: Buffer) {
        self.flight = Flight::Receive;
        self.lane.shared().replace(Some(buffer));
        self.lane.begin();
    }

    /// Begins to wait until there is something to receive. Nothing may be in flight.
    pub(crate) fn wait(&mut self) {
        self.flight = Flight::Wait;
        self.lane.begin();
    }

    /// Withdraws what is in flight; [`poll`](Self::poll) says what it had come to.
    pub(crate) fn withdraw(&mut self) {
        if matches!(self.flight, Flight::Receive | Flight::Wait) {
            self.flight = Flight::Withdrawn;
            self.lane.shared().canceller.replace_with(|canceller| mem::take(canceller).cancel());
        }
    }

    /// Waits for what is in flight.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Arrival> {
        let result = ready!(self.lane.poll(cx));
        self.flight = Flight::Nothing;
        Poll::Ready(match (result, self.lane.shared().replace(None)) {
            (Ok(1..), Some(buffer)) => Arrival::Bytes(buffer),
            (Ok(_zero), Some(_empty)) => Arrival::End,
            (Ok(_zero), None) => Arrival::Readiness,
            (Err(error), _) if is_nothing(&error) => Arrival::Withdrawn,
            (Err(error), _) => Arrival::Failure(error),
        })
    }

    /// The half of the socket. Nothing may be in flight.
    pub(crate) fn into_half(self) -> ReadHalf {
        self.lane.into_half()
    }
}

/// Whether an operation was cancelled before it did anything; interrupted, if a kernel thread had it.
fn is_nothing(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::CANCELED | Errno::INTR))
}
