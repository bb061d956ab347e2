//! A connection on tokio.

use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use corepool_core::backend::{Conn, Detached, SendBuf};
use corepool_core::buffer::{BUFFER_SIZE, Buffer, BufferPool};
use corepool_os::{StreamSocket, outcome_of_connect};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The free buffers that a core keeps for reuse: 5 MiB.
const KEPT_BUFFERS: usize = 256;

thread_local! {
    static POOL: BufferPool = BufferPool::new(BUFFER_SIZE, KEPT_BUFFERS);
}

/// The buffers of this thread that are lent out.
pub(crate) fn lent_buffers() -> usize {
    POOL.with(BufferPool::lent)
}

/// A connection registered with this thread's epoll, edge-triggered by tokio.
#[derive(Debug)]
pub struct TokioConn {
    /// `None` when closed or detached.
    stream: Option<TcpStream>,
    pool: BufferPool,
    /// Bytes that came along from a former owner; boxed, because hardly any connection has them.
    unread: Option<Box<Buffer>>,
    sending: Option<Sending>,
    at_end: bool,
}

#[derive(Debug)]
struct Sending {
    bytes: SendBuf<Buffer>,
    sent: usize,
}

impl Conn for TokioConn {
    type Loan = Buffer;
    type Socket = StreamSocket;

    fn attach(detached: Detached<StreamSocket>) -> io::Result<Self> {
        // Without a non-blocking descriptor tokio would block the whole thread (tokio#7172). A Unix socket is taken as
        // well: nothing that is done with it here is TCP's own.
        let stream = TcpStream::from_std(detached.socket.into_nonblocking()?)?;
        Ok(Self {
            stream: Some(stream),
            pool: POOL.with(Clone::clone),
            unread: (!detached.unread.is_empty()).then(|| Box::new(detached.unread.into())),
            sending: None,
            at_end: false,
        })
    }

    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.stream.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        ready!(stream.poll_write_ready(cx))?;
        Poll::Ready(outcome_of_connect(stream))
    }

    #[inline]
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Buffer>>> {
        if let Some(bytes) = self.unread.take() {
            return Poll::Ready(Ok(Some(*bytes)));
        }
        let Some(stream) = self.stream.as_mut().filter(|_| !self.at_end) else {
            return Poll::Ready(Ok(None));
        };
        // `poll_read`, not `try_read`: it knows that a short read has emptied the socket, and saves the
        // receive that would say so.
        let received = self.pool.receive(|space| {
            let mut space = ReadBuf::new(space);
            Pin::new(stream).poll_read(cx, &mut space).map_ok(|()| space.filled().len())
        });
        if matches!(received, Poll::Ready(Ok(None) | Err(_))) {
            self.at_end = true;
        }
        received
    }

    #[inline]
    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.stream {
            Some(stream) if !self.at_end && self.unread.is_none() => stream.poll_read_ready(cx),
            _ => Poll::Ready(Ok(())),
        }
    }

    #[inline]
    fn start_send(&mut self, bytes: SendBuf<Buffer>) {
        assert!(self.sending.is_none(), "a send begins while another is in flight");
        self.sending = Some(Sending { bytes, sent: 0 });
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(sending) = &mut self.sending else { return Poll::Ready(Ok(())) };
        let result = match &mut self.stream {
            Some(stream) => ready!(sending.poll(stream, cx)),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        self.sending = None;
        Poll::Ready(result)
    }

    #[inline]
    fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    fn unacknowledged(&self) -> usize {
        self.stream.as_ref().and_then(|stream| corepool_os::unacknowledged(stream).ok()).unwrap_or_default()
    }

    fn reset_on_close(&self) -> io::Result<()> {
        corepool_os::reset_on_close(self.stream.as_ref().ok_or(io::ErrorKind::NotConnected)?)
    }

    #[inline]
    fn buffer(&self) -> Buffer {
        self.pool.take()
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let stream = self.stream.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        SockRef::from(stream).shutdown(how)
    }

    fn poll_detach(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Detached<StreamSocket>>> {
        ready!(self.poll_flush(cx))?;
        let stream = self.stream.take().ok_or(io::ErrorKind::NotConnected)?;
        let socket = StreamSocket::known_nonblocking(stream.into_std()?.into());
        let unread = self.unread.take().map(|bytes| bytes.to_vec()).unwrap_or_default();
        Poll::Ready(Ok(Detached { socket, unread }))
    }

    fn poll_close(&mut self, _cx: &mut Context<'_>) -> Poll<()> {
        self.stream = None;
        self.unread = None;
        self.sending = None;
        Poll::Ready(())
    }
}

impl Sending {
    #[inline]
    fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let bytes = self.bytes.as_ref();
        while self.sent < bytes.len() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &bytes[self.sent..])) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => self.sent += count,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}
