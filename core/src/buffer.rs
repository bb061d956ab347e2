//! Pooled buffers of one core: what backends receive into and handlers write replies into.
//!
//! Owns the memory and its reuse. When a buffer is taken, filled or sent is the backend's business. All of a
//! buffer's memory is initialised once, when it is allocated, so that no `unsafe` is needed to fill it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::rc::Rc;

use crate::backend::Loan;

/// The size of a pooled buffer, in bytes: five pages.
///
/// A 16 KiB message (and a whole TLS record) fits with room to spare, so that its receive is a short read: a
/// readiness backend then knows that the socket is empty and saves the receive that would have said so.
pub const BUFFER_SIZE: usize = 20 * 1024;

/// A free list of equal buffers, for one thread. Cloning it gives another handle to the same list.
#[derive(Clone)]
pub struct BufferPool {
    inner: Rc<Inner>,
}

struct Inner {
    buffer_size: usize,
    kept_max: usize,
    free: RefCell<Vec<Box<[u8]>>>,
    lent: Cell<usize>,
}

impl BufferPool {
    /// A pool of buffers of `buffer_size` bytes that keeps at most `kept_max` of them for reuse.
    ///
    /// The pool never refuses: with none free it allocates, and what it does not keep goes back to the heap.
    pub fn new(buffer_size: usize, kept_max: usize) -> Self {
        Self { inner: Rc::new(Inner { buffer_size, kept_max, free: RefCell::default(), lent: Cell::new(0) }) }
    }

    /// Takes an empty buffer; the one that was given back last, for its warm cache lines.
    pub fn take(&self) -> Buffer {
        let inner = &self.inner;
        let reused = inner.free.borrow_mut().pop();
        let bytes = reused.unwrap_or_else(|| vec![0; inner.buffer_size].into_boxed_slice());
        inner.lent.set(inner.lent.get() + 1);
        Buffer { bytes, filled: 0, home: Some(Rc::clone(inner)) }
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
            .field("free", &self.inner.free.borrow().len())
            .field("lent", &self.inner.lent.get())
            .finish()
    }
}

impl Inner {
    fn put(&self, bytes: Box<[u8]>) {
        self.lent.set(self.lent.get() - 1);
        let mut free = self.free.borrow_mut();
        if bytes.len() == self.buffer_size && free.len() < self.kept_max {
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
    pub fn spare_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Counts `count` more bytes as filled, after they were written into [`spare_mut`](Self::spare_mut).
    ///
    /// # Panics
    /// When there is less memory than that.
    pub fn advance(&mut self, count: usize) {
        let filled = self.filled + count;
        assert!(filled <= self.bytes.len(), "a buffer of {} bytes cannot hold {filled}", self.bytes.len());
        self.filled = filled;
    }

    /// Appends bytes. Within the pool's buffer size nothing is allocated; beyond it the buffer moves to the
    /// heap, and is not kept for reuse.
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
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.put(std::mem::take(&mut self.bytes));
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl AsRef<[u8]> for Buffer {
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
        assert_eq!(pool.inner.free.borrow().len(), 1);
    }
}
