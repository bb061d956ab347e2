//! The buffers that multishot receives take from: a ring of descriptors that the
//! kernel reads, and the memory that they describe.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

use crate::BUFFER_BYTES;

/// The only group of buffers of a ring.
pub(crate) const GROUP: u16 = 0;

/// Buffers that the kernel chooses from.
#[derive(Debug)]
pub(crate) struct Provided {
    descriptors: Pages,
    memory: Pages,
    tail: u16,
}

impl Provided {
    /// Gives the kernel of this ring all buffers.
    pub(crate) fn register(ring: &IoUring) -> io::Result<Self> {
        let entry_bytes = size_of::<BufRingEntry>();
        let mut provided = Self {
            descriptors: Pages::new(usize::from(BUFFERS) * entry_bytes),
            memory: Pages::new(usize::from(BUFFERS) * BUFFER_BYTES),
            tail: 0,
        };
        let address = provided.descriptors.start.as_ptr() as u64;
        // SAFETY: the descriptors are as long as said, and whoever owns this keeps it for as long as the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, BUFFERS, GROUP, 0) }?;
        (0..BUFFERS).for_each(|id| provided.give(id));
        Ok(provided)
    }

    /// Lets the kernel have a buffer (again). The caller does not look at it any more.
    pub(crate) fn give(&mut self, id: u16) {
        let first = self.descriptors.start.cast::<BufRingEntry>();
        // SAFETY: the masked index is below the number of descriptors.
        let place = unsafe { first.add(usize::from(self.tail & (BUFFERS - 1))) };
        // SAFETY: the memory is zeroed, which is a valid entry, and the kernel reads no entry beyond the tail.
        let entry = unsafe { &mut *place.as_ptr() };
        entry.set_addr(self.buffer(id).as_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: this is the first entry, and it is valid.
        let tail = unsafe { BufRingEntry::tail(first.as_ptr()) };
        // SAFETY: it is aligned, inside of our memory, and the kernel only reads it.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Where a buffer is.
    pub(crate) fn buffer(&self, id: u16) -> NonNull<u8> {
        assert!(id < BUFFERS, "the kernel gives back what it was given");
        // SAFETY: the memory has room for every buffer.
        unsafe { self.memory.start.add(usize::from(id) * BUFFER_BYTES) }
    }
}

/// Zeroed memory that begins on a page.
#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("a size that memory has");
        assert!(bytes > 0, "there are buffers");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        Self { start: NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// As many as compio's pool has in the lab, so that the cache has the same to do; a power of two.
const BUFFERS: u16 = 128;
const PAGE_BYTES: usize = 4096;
