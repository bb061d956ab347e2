//! Sending: one operation at a time, resubmitted until all is sent.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use compio::buf::{BufResult, IntoInner, IoBuf};
use compio::driver::op::Send;
use compio::runtime::{Submit, submit};
use corepool_core::backend::SendBuf;
use corepool_core::buffer::Buffer;
use rustix::net::SendFlags;

use crate::withdraw::is_withdrawn;

/// The sending half of a connection.
pub(crate) enum Sender {
    Idle,
    InFlight(Submit<SendRest>),
    /// Bytes were to be sent on a connection that was closed.
    Refused,
}

pub(crate) type SendRest = Send<Rest, Rc<OwnedFd>>;

/// What is left to send.
pub(crate) struct Rest {
    bytes: SendBuf<Buffer>,
    sent: usize,
}

impl Sender {
    /// Takes the bytes; the first poll submits them.
    #[inline]
    pub(crate) fn start(socket: Option<&Rc<OwnedFd>>, bytes: SendBuf<Buffer>) -> Self {
        Rest { bytes, sent: 0 }.send(socket)
    }

    /// Sends to the end; see `Conn::poll_flush`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        socket: Option<&Rc<OwnedFd>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let BufResult(result, sent) = match self {
                Self::Idle => return Poll::Ready(Ok(())),
                Self::Refused => {
                    *self = Self::Idle;
                    return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
                }
                Self::InFlight(sending) => ready!(Pin::new(sending).poll(cx)).into_inner(),
            };
            *self = match sent.after(result) {
                Ok(rest) => rest.send(socket),
                Err(error) => {
                    *self = Self::Idle;
                    return Poll::Ready(Err(error));
                }
            };
        }
    }

    /// Waits until the socket is connected, by a send of no bytes: the kernel completes it then, or with the error that
    /// connecting has ended in.
    pub(crate) fn poll_connected(
        &mut self,
        socket: &Rc<OwnedFd>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if let Self::Idle = self {
            let nothing = Rest { bytes: SendBuf::Static(&[]), sent: 0 };
            *self = Self::InFlight(submit(Send::new(Rc::clone(socket), nothing, SendFlags::NOSIGNAL)));
        }
        self.poll(Some(socket), cx)
    }

    /// Waits until nothing is in flight, and drops what that did not send.
    pub(crate) fn poll_reaped(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Self::InFlight(sending) = self {
            let _ = ready!(Pin::new(sending).poll(cx));
        }
        *self = Self::Idle;
        Poll::Ready(())
    }

    #[inline]
    pub(crate) fn is_sending(&self) -> bool {
        !matches!(self, Self::Idle)
    }
}

impl Rest {
    /// Sends what is left, if anything is.
    ///
    /// `MSG_WAITALL` lets the kernel go on by itself when there is room again, rather than report a short write.
    #[inline]
    fn send(self, socket: Option<&Rc<OwnedFd>>) -> Sender {
        let flags = SendFlags::NOSIGNAL | WAIT_ALL;
        match socket {
            _ if self.is_empty() => Sender::Idle,
            Some(socket) => Sender::InFlight(submit(Send::new(Rc::clone(socket), self, flags))),
            None => Sender::Refused,
        }
    }

    /// What is left after a send with this result.
    #[inline]
    fn after(mut self, result: io::Result<usize>) -> io::Result<Self> {
        match result {
            Ok(0) if !self.is_empty() => Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                self.sent += count;
                Ok(self)
            }
            // Withdrawn together with a receive; the kernel reports what it had sent, if it had sent any.
            Err(error) if is_withdrawn(&error) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

impl IoBuf for Rest {
    fn as_init(&self) -> &[u8] {
        &self.bytes.as_ref()[self.sent..]
    }
}

/// `MSG_WAITALL`, which rustix has for receiving only.
const WAIT_ALL: SendFlags = SendFlags::from_bits_retain(rustix::net::RecvFlags::WAITALL.bits());
