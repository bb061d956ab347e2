//! The knobs of a compio runtime.

use std::io;

use compio::driver::{DriverType, ProactorBuilder};
use compio::runtime::RuntimeBuilder;
use corepool_core::backend::Backend;
use corepool_core::error::Unavailable;

use crate::Compio;

/// The knobs of a compio runtime: of each worker's, since every worker has its own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// How many operations are handed to the kernel at once; 1 to 32768, rounded up to a power of two. When more
    /// begin in one turn of the loop, each filling of the ring is a system call. Default: 1024, which takes
    /// 104 KiB of locked memory; a user who may lock 8 MiB (the usual limit) can have 78 of such rings.
    pub ring_entries: u32,
    /// How many buffers, of 20 KiB each, a worker may have lent out before a receive gets none in advance, but
    /// only when data is there. That costs one more system call for each message, and saves the memory of all who
    /// wait. Default: 1024, for 20 MiB. It limits neither connections nor loans.
    pub waiting_buffers_max: usize,
    /// How many tasks are polled between two looks at the ring; no more than a quarter of `ring_entries`, so that
    /// what they begin fits. Default: 256, so that the replies to what came in one turn are submitted together.
    /// Smaller answers new input sooner, larger makes fewer system calls.
    pub event_interval: u32,
    /// Completions are delivered when the worker asks for them, not by interrupting it: less work, and better
    /// batches. Default: true; it needs kernel 6.1.
    pub defer_taskrun: bool,
    /// Completions are delivered when the worker is in the kernel anyway. Default: false; `defer_taskrun` does
    /// more, and on an older kernel this is the second best.
    pub coop_taskrun: bool,
    /// How many wakes from other threads may be pending. A thread that would exceed it spins until the worker has
    /// caught up, so it is far above what a server wakes at once. Default: 65536, for 1 MiB.
    pub remote_wakes_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ring_entries: 1024,
            waiting_buffers_max: 1024,
            event_interval: 256,
            defer_taskrun: true,
            coop_taskrun: false,
            remote_wakes_max: 65536,
        }
    }
}

impl Config {
    /// The oldest kernel that has what is asked for: withdrawing by descriptor came with 5.19, deferred
    /// completions with 6.1.
    pub(crate) fn kernel_needed(&self) -> &'static str {
        if self.defer_taskrun { "6.1" } else { "5.19" }
    }

    /// compio's builder for these values.
    pub(crate) fn builder(&self) -> Result<RuntimeBuilder, Unavailable> {
        in_range("ring_entries", self.ring_entries, 1 << 15)?;
        in_range("event_interval", self.event_interval, u32::MAX)?;
        in_range("remote_wakes_max", self.remote_wakes_max, 1 << 24)?;
        let mut ring = ProactorBuilder::new();
        ring.driver_type(DriverType::IoUring)
            .capacity(self.ring_entries)
            .single_issuer(self.defer_taskrun)
            .defer_taskrun(self.defer_taskrun)
            // Without it, a turn that does not wait reaps nothing: a task that keeps waking itself would starve all
            // others of their completions.
            .taskrun_flag(self.defer_taskrun)
            .coop_taskrun(self.coop_taskrun);
        let mut builder = RuntimeBuilder::new();
        builder
            .with_proactor(ring)
            .event_interval(self.event_interval.min((self.ring_entries / 4).max(1)) as usize)
            .sync_queue_size(self.remote_wakes_max as usize);
        Ok(builder)
    }
}

fn in_range(knob: &str, value: u32, most: u32) -> Result<(), Unavailable> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    let (reason, advice) = (format!("its {knob} is {value}"), format!("Choose 1 to {most}"));
    Err(Unavailable::new(Compio::NAME, reason, advice, io::ErrorKind::InvalidInput.into()))
}
