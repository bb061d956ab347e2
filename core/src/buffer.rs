//! Pooled buffers of one core: what backends receive into and handlers write replies into.
//!
//! Owns the memory and its reuse. When a buffer is taken, filled or sent is the backend's business. All of a
//! buffer's memory is initialised once, when it is allocated, so that no `unsafe` is needed to fill it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::rc::Rc;
use std::task::Poll;

use crate::backend::Loan;

/// The size of a pooled buffer, in bytes: five pages.
///
/// A 16 KiB message (and a whole TLS record) fits with room to spare, so that its receive is a short read: a
/// readiness backend then knows that the socket is empty and saves the receive that would have said so.
pub const BUFFER_SIZE: usize = 20 * 1024;

/// What free buffers are filled with, in builds that check that nobody writes into one: `scripts/sanitize`. A sanitizer
/// sees what we write, and not what the kernel does.
const POISON: Option<u8> = if cfg!(corepool_poison) { Some(0xa5) } else { None };

/// A free list of equal buffers, for one thread. Cloning it gives another handle to the same list.
#[derive(Clone)]
pub struct BufferPool {
    inner: Rc<Inner>,
}

struct Inner {
    buffer_size: usize,
    kept_max: usize,
    /// The buffer that was given back last; empty when it has been taken. An exchange of one message takes and
    /// gives back two or three times, and this is all that it touches.
    last: Cell<Box<[u8]>>,
    free: RefCell<Vec<Box<[u8]>>>,
    lent: Cell<usize>,
}

impl BufferPool {
    /// A pool of buffers of `buffer_size` bytes that keeps at most `kept_max` of them, and the last, for reuse.
    ///
    /// The pool never refuses: with none free it allocates, and what it does not keep goes back to the heap.
    pub fn new(buffer_size: usize, kept_max: usize) -> Self {
        let (last, free, lent) = (Cell::default(), RefCell::default(), Cell::new(0));
        Self { inner: Rc::new(Inner { buffer_size, kept_max, last, free, lent }) }
    }

    /// Takes an empty buffer; the one that was given back last, for its warm cache lines.
    #[inline]
    pub fn take(&self) -> Buffer {
        let inner = &self.inner;
        inner.lent.set(inner.lent.get() + 1);
        Buffer { bytes: inner.reuse(), filled: 0, home: Some(Rc::clone(inner)) }
    }

    /// Receives into a buffer, by a call that is given its space and says how many bytes it put there. The
    /// buffer is kept, and nothing lent, unless that is at least one: `None` at the end of a stream.
    ///
    /// # Errors
    /// What the call returns.
    #[inline]
    pub fn receive(
        &self,
        receive: impl FnOnce(&mut [u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<Option<Buffer>>> {
        let inner = &self.inner;
        let mut bytes = inner.reuse();
        let received = receive(&mut bytes);
        if let Poll::Ready(Ok(filled @ 1..)) = received {
            assert!(filled <= bytes.len(), "{filled} bytes were received into {}", bytes.len());
            inner.lent.set(inner.lent.get() + 1);
            return Poll::Ready(Ok(Some(Buffer { bytes, filled, home: Some(Rc::clone(inner)) })));
        }
        inner.keep(bytes);
        received.map_ok(|_none| None)
    }

    /// How many buffers are lent out.
    pub fn lent(&self) -> usize {
        self.inner.lent.get()
    }
}

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool")
            .field("buffer_size", &self.inner.buffer_size)
            .field("kept", &self.inner.free.borrow().len())
            .field("lent", &self.inner.lent.get())
            .finish()
    }
}

impl Inner {
    #[inline]
    fn reuse(&self) -> Box<[u8]> {
        let last = self.last.take();
        let bytes = if last.is_empty() { self.reuse_older() } else { last };
        if let Some(poison) = POISON {
            assert!(bytes.iter().all(|&byte| byte == poison), "somebody has written into a free buffer");
        }
        bytes
    }

    #[cold]
    fn reuse_older(&self) -> Box<[u8]> {
        let older = self.free.borrow_mut().pop();
        older.unwrap_or_else(|| vec![POISON.unwrap_or(0); self.buffer_size].into_boxed_slice())
    }

    /// Takes back what was lent.
    #[inline]
    fn put(&self, bytes: Box<[u8]>) {
        self.lent.set(self.lent.get() - 1);
        self.keep(bytes);
    }

    #[inline]
    fn keep(&self, mut bytes: Box<[u8]>) {
        if let Some(poison) = POISON {
            bytes.fill(poison);
        }
        let older = self.last.replace(bytes);
        if !older.is_empty() {
            self.keep_older(older);
        }
    }

    #[cold]
    fn keep_older(&self, bytes: Box<[u8]>) {
        let mut free = self.free.borrow_mut();
        if free.len() < self.kept_max {
            free.push(bytes);
        }
    }
}

/// A growable run of bytes whose memory returns to its core's pool when it is dropped.
///
/// It dereferences to the bytes that have been filled in.
pub struct Buffer {
    bytes: Box<[u8]>,
    filled: usize,
    home: Option<Rc<Inner>>,
}

impl Buffer {
    /// The rest of the memory, after the filled bytes; initialised, its content arbitrary.
    #[inline]
    pub fn spare_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Counts `count` more bytes as filled, after they were written into [`spare_mut`](Self::spare_mut).
    ///
    /// # Panics
    /// When there is less memory than that.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        let filled = self.filled + count;
        assert!(filled <= self.bytes.len(), "a buffer of {} bytes cannot hold {filled}", self.bytes.len());
        self.filled = filled;
    }

    /// Appends bytes. Within the pool's buffer size nothing is allocated; beyond it the buffer moves to the
    /// heap, and is not kept for reuse.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.filled + bytes.len();
        if end > self.bytes.len() {
            self.grow(end);
        }
        self.bytes[self.filled..end].copy_from_slice(bytes);
        self.filled = end;
    }

    /// Forgets the filled bytes.
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// How many bytes fit without allocating.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        let mut larger = vec![0; least.next_power_of_two()].into_boxed_slice();
        larger[..self.filled].copy_from_slice(&self.bytes[..self.filled]);
        let old = std::mem::replace(&mut self.bytes, larger);
        if let Some(home) = self.home.take() {
            home.put(old);
        }
    }
}

/// A buffer of no pool; its memory goes back to the heap.
impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        let filled = bytes.len();
        Self { bytes: bytes.into_boxed_slice(), filled, home: None }
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put(std::mem::take(&mut self.bytes));
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl AsRef<[u8]> for Buffer {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Loan for Buffer {}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("filled", &self.filled)
            .field("capacity", &self.bytes.len())
            .field("pooled", &self.home.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_buffer_is_reused_and_counted() {
        let pool = BufferPool::new(64, 4);
        let mut buffer = pool.take();
        buffer.extend_from_slice(b"abc");
        let memory = buffer.as_ptr();
        assert_eq!((pool.lent(), &*buffer), (1, &b"abc"[..]));
        drop(buffer);
        let again = pool.take();
        assert_eq!((again.as_ptr(), again.len(), pool.lent()), (memory, 0, 1));
    }

    #[test]
    fn the_pool_keeps_no_more_than_it_should() {
        let pool = BufferPool::new(64, 2);
        let three = [pool.take(), pool.take(), pool.take()];
        drop(three);
        let kept = pool.inner.free.borrow().len() + 1;
        assert_eq!((kept, pool.lent()), (3, 0));
        drop((0..5).map(|_| pool.take()).collect::<Vec<_>>());
        assert_eq!((pool.inner.free.borrow().len(), pool.lent()), (2, 0));
    }

    #[test]
    fn a_buffer_that_outgrows_the_pool_keeps_its_bytes_and_gives_its_memory_back() {
        let pool = BufferPool::new(4, 4);
        let mut buffer = pool.take();
        buffer.extend_from_slice(b"abcd");
        buffer.extend_from_slice(b"efg");
        assert_eq!((&*buffer, pool.lent()), (&b"abcdefg"[..], 0));
        drop(buffer);
        let again = pool.take();
        assert_eq!((again.capacity(), pool.inner.free.borrow().len()), (4, 0));
    }
}
