//! The buffers of one worker, found through its thread.

use std::cell::RefCell;
use std::io;

use corepool_core::buffer::{BUFFER_SIZE, BufferPool};

/// The fewest free buffers that are kept for reuse: 5 MiB, for loans and replies.
const KEPT_MIN: usize = 256;

thread_local! {
    static CURRENT: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// A handle to the buffers of a worker.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) pool: BufferPool,
    waiting_max: usize,
}

impl Memory {
    /// The memory of the runtime that runs on this thread.
    pub(crate) fn current() -> io::Result<Self> {
        let current = CURRENT.with_borrow(Clone::clone);
        current.ok_or_else(|| io::Error::other("no monoio runtime of corepool runs on this thread"))
    }

    /// Whether a receive may have a buffer before there is something to receive.
    #[inline]
    pub(crate) fn is_ample(&self) -> bool {
        self.pool.lent() < self.waiting_max
    }
}

/// How many buffers of this thread are lent out.
pub(crate) fn lent_buffers() -> usize {
    CURRENT.with_borrow(|memory| memory.as_ref().map_or(0, |memory| memory.pool.lent()))
}

/// The memory of this thread, until it is dropped.
pub(crate) struct Current(());

impl Current {
    /// As many buffers as may wait are kept, too: given back to the heap and taken from it again, they would
    /// leave holes between connections.
    pub(crate) fn new(waiting_max: usize) -> Self {
        let pool = BufferPool::new(BUFFER_SIZE, waiting_max.max(KEPT_MIN));
        CURRENT.set(Some(Memory { pool, waiting_max }));
        Self(())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}
