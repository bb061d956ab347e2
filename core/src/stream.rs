//! A connection as `futures_io` streams, for code that wants `AsyncRead` and `AsyncWrite`.
//!
//! Each direction costs one copy that the connection itself does not make; [`AsyncBufRead`] costs none.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncBufRead, AsyncRead, AsyncWrite};

use crate::backend::{Backend, LoanOf};
use crate::chunk::Chunk;
use crate::connection::Connection;
use crate::duplex::Duplex;
use crate::outbound::Outbound;

/// A [`Connection`], or an [`Outbound`] one, that is read and written through borrowed buffers.
pub struct Stream<B: Backend, C = Connection<B>> {
    connection: C,
    /// What was received and not read yet.
    chunk: Option<Chunk<LoanOf<B>>>,
    /// How much of it was read.
    read: usize,
}

/// Nothing in it is pinned.
impl<B: Backend, C> Unpin for Stream<B, C> {}

impl<B: Backend, C: Carrier<B>> From<C> for Stream<B, C> {
    fn from(connection: C) -> Self {
        Self { connection, chunk: None, read: 0 }
    }
}

/// What a stream is made of. Sealed: a connection that somebody else has opened, or that we have.
pub trait Carrier<B: Backend>: fmt::Debug {
    /// Its two directions.
    fn duplex(&mut self) -> &mut Duplex<B>;
}

impl<B: Backend> Carrier<B> for Connection<B> {
    #[inline]
    fn duplex(&mut self) -> &mut Duplex<B> {
        self
    }
}

impl<B: Backend> Carrier<B> for Outbound<B> {
    #[inline]
    fn duplex(&mut self) -> &mut Duplex<B> {
        self
    }
}

impl<B: Backend, C: Carrier<B>> fmt::Debug for Stream<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl<B: Backend, C: Carrier<B>> AsyncBufRead for Stream<B, C> {
    /// The bytes that have been received and not consumed; empty at the end of the stream.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.chunk.as_ref().is_none_or(|chunk| this.read >= chunk.len()) {
            this.chunk = None;
            this.read = 0;
            this.chunk = ready!(this.connection.duplex().poll_recv(cx))?;
        }
        Poll::Ready(Ok(this.chunk.as_deref().map_or(&[][..], |chunk| &chunk[this.read..])))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.read += amount;
        if self.chunk.as_ref().is_some_and(|chunk| self.read >= chunk.len()) {
            self.chunk = None; // the memory goes back now, not at the next read
            self.read = 0;
        }
    }
}

impl<B: Backend, C: Carrier<B>> AsyncRead for Stream<B, C> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let count = available.len().min(into.len());
        into[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Poll::Ready(Ok(count))
    }
}

impl<B: Backend, C: Carrier<B>> AsyncWrite for Stream<B, C> {
    /// Copies into a buffer of this core's pool and begins to send it. Waits only for an earlier write.
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.connection.duplex().poll_flush(cx))?;
        let mut buffer = self.connection.duplex().buffer();
        let count = bytes.len().min(buffer.capacity());
        buffer.extend_from_slice(&bytes[..count]);
        self.connection.duplex().start_send(buffer);
        match self.connection.duplex().poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(count)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.duplex().poll_flush(cx)
    }

    /// Flushes, and tells the peer that nothing more will come. Reading goes on.
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.connection.duplex().poll_flush(cx))?;
        Poll::Ready(self.connection.duplex().shutdown_write())
    }
}
