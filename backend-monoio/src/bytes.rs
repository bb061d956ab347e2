//! What an operation in flight reads from or writes into. The kernel is given pointers here.
//!
//! One of the two files with `unsafe` code. The bytes of a connection stay in one place for as long as it
//! lives, and an operation is handed a key to them: eight bytes to move where there would be fifty. While there
//! is a key, nobody else touches the bytes; monoio keeps it until the kernel is done, whoever drops the future.

use std::cell::{Cell, RefCell};
use std::io;
use std::ptr;
use std::rc::Rc;

use corepool_core::backend::SendBuf;
use corepool_core::buffer::Buffer;
use monoio::buf::{IoBuf, IoBufMut};
use monoio::io::Canceller;

use crate::lane::Desk;

/// The most that one send hands to the kernel, which takes a 32-bit length; the rest follows in the next.
const SEND_MAX: usize = 1 << 30;

/// Where received bytes go.
#[derive(Default)]
pub(crate) struct Landing {
    /// `None` for an operation that receives nothing.
    buffer: RefCell<Option<Buffer>>,
    is_locked: Cell<bool>,
    /// One for all operations of the connection. It costs 380 instructions for each: no more than 0.3 % of the
    /// CPU time of a 512-byte echo, and hard to measure at all.
    pub(crate) canceller: RefCell<Canceller>,
}

impl Landing {
    /// Sets or takes the buffer. No operation may be in flight.
    #[inline]
    pub(crate) fn replace(&self, buffer: Option<Buffer>) -> Option<Buffer> {
        assert!(!self.is_locked.get(), "the kernel is writing here");
        self.buffer.replace(buffer)
    }
}

/// Owned by an operation that writes into the buffer.
pub(crate) struct LandingKey(Rc<Desk<Landing, io::Result<usize>>>);

impl LandingKey {
    #[inline]
    pub(crate) fn lock(landing: &Rc<Desk<Landing, io::Result<usize>>>) -> Self {
        assert!(!landing.is_locked.replace(true), "one operation at a time");
        Self(Rc::clone(landing))
    }
}

impl Drop for LandingKey {
    #[inline]
    fn drop(&mut self) {
        self.0.is_locked.set(false);
    }
}

// SAFETY: `write_ptr` and `bytes_total` describe initialised memory on the heap, which belongs to a buffer that
// stays where it is and that nobody else touches while there is a key.
unsafe impl IoBufMut for LandingKey {
    #[inline]
    fn write_ptr(&mut self) -> *mut u8 {
        match &mut *self.0.buffer.borrow_mut() {
            Some(buffer) => buffer.spare_mut().as_mut_ptr(),
            None => ptr::dangling_mut(),
        }
    }

    #[inline]
    fn bytes_total(&mut self) -> usize {
        self.0.buffer.borrow().as_ref().map_or(0, |buffer| buffer.capacity() - buffer.len())
    }

    #[inline]
    unsafe fn set_init(&mut self, received: usize) {
        if let Some(buffer) = &mut *self.0.buffer.borrow_mut() {
            buffer.advance(received);
        }
    }
}

/// What is being sent, and how much of it has been.
#[derive(Default)]
pub(crate) struct Outgoing {
    bytes: RefCell<Option<SendBuf<Buffer>>>,
    sent: Cell<usize>,
    is_locked: Cell<bool>,
}

impl Outgoing {
    /// Sets what is to be sent. No operation may be in flight.
    #[inline]
    pub(crate) fn set(&self, bytes: SendBuf<Buffer>) {
        assert!(!self.is_locked.get(), "the kernel is reading here");
        self.sent.set(0);
        self.bytes.replace(Some(bytes));
    }

    /// Sets that nothing is to be sent, in an operation all the same. No operation may be in flight.
    pub(crate) fn set_nothing(&self) {
        self.clear();
    }

    /// Whether nothing was set.
    pub(crate) fn is_nothing(&self) -> bool {
        self.bytes.borrow().is_none()
    }

    /// Drops what is left. No operation may be in flight.
    #[inline]
    pub(crate) fn clear(&self) {
        assert!(!self.is_locked.get(), "the kernel is reading here");
        self.bytes.take();
    }

    /// Counts `count` more bytes as sent.
    #[inline]
    pub(crate) fn advance(&self, count: usize) {
        self.sent.set(self.sent.get() + count);
    }

    /// Whether all has been sent.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.rest().is_empty()
    }

    #[inline]
    fn rest(&self) -> *const [u8] {
        match &*self.bytes.borrow() {
            Some(bytes) => &raw const bytes.as_ref()[self.sent.get()..],
            None => ptr::slice_from_raw_parts(ptr::dangling(), 0),
        }
    }
}

/// Owned by an operation that reads the rest of what is to be sent.
pub(crate) struct OutgoingKey(Rc<Desk<Outgoing, io::Result<()>>>);

impl OutgoingKey {
    #[inline]
    pub(crate) fn lock(outgoing: &Rc<Desk<Outgoing, io::Result<()>>>) -> Self {
        assert!(!outgoing.is_locked.replace(true), "one operation at a time");
        Self(Rc::clone(outgoing))
    }
}

impl Drop for OutgoingKey {
    #[inline]
    fn drop(&mut self) {
        self.0.is_locked.set(false);
    }
}

// SAFETY: `read_ptr` and `bytes_init` describe a part of a `SendBuf`. It stays where it is, has its bytes on
// the heap or in the program, and nobody changes or drops it while there is a key.
unsafe impl IoBuf for OutgoingKey {
    #[inline]
    fn read_ptr(&self) -> *const u8 {
        self.0.rest().cast()
    }

    #[inline]
    fn bytes_init(&self) -> usize {
        self.0.rest().len().min(SEND_MAX)
    }
}
