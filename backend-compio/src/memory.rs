//! The buffers of one core, found through its thread.

use std::cell::RefCell;
use std::io;

use corepool_core::buffer::{BUFFER_SIZE, BufferPool};

thread_local! {
    static CURRENT: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

/// The free buffers that a core keeps for reuse: 5 MiB.
const KEPT_BUFFERS: usize = 256;

/// A handle to the buffers of one core.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) pool: BufferPool,
    waiting_max: usize,
}

impl Memory {
    /// The memory of the runtime that runs on this thread.
    pub(crate) fn current() -> io::Result<Self> {
        CURRENT
            .with_borrow(Clone::clone)
            .ok_or_else(|| io::Error::other("no compio runtime of corepool runs on this thread"))
    }

    /// Whether a receive may have a buffer before there is something to receive.
    pub(crate) fn is_ample(&self) -> bool {
        self.pool.lent() < self.waiting_max
    }
}

/// The buffers of this thread that are lent out.
pub(crate) fn lent_buffers() -> usize {
    CURRENT.with_borrow(|memory| memory.as_ref().map_or(0, |memory| memory.pool.lent()))
}

/// The memory of this thread, until it is dropped.
pub(crate) struct Current(());

impl Current {
    pub(crate) fn new(waiting_max: usize) -> Self {
        CURRENT.set(Some(Memory { pool: BufferPool::new(BUFFER_SIZE, KEPT_BUFFERS), waiting_max }));
        Self(())
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}
