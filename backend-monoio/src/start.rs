//! Starting a runtime on the ring, or saying why not.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use corepool_core::backend::Backend;
use corepool_core::error::Unavailable;
use corepool_os::ring;
use monoio::time::TimeDriver;
use monoio::{IoUringDriver, Runtime, RuntimeBuilder};
use rustix::event::{EventfdFlags, eventfd};

use crate::turns::{InTurn, Turns};
use crate::{Config, Monoio, memory};

/// Runs the future that `root` makes, on a runtime that has its own ring, to its end.
pub(crate) fn run<F: Future>(
    config: &Config,
    root: impl FnOnce(&'static str) -> F,
) -> Result<F::Output, Unavailable> {
    let explain = |error| ring::explain(Monoio::NAME, config.entries(), config.kernel_needed(), error);
    let (mut runtime, bell) = build(config).map_err(explain)?;
    let _memory = memory::Current::new(config.waiting_buffers_max);
    runtime.block_on(async {
        let turns = Turns::begin(bell).map_err(explain)?;
        let driver = if monoio::utils::is_legacy() { "epoll" } else { "io_uring" };
        let output = InTurn::new(root(driver)).await;
        turns.end().await;
        Ok(output)
    })
}

/// A runtime, and a descriptor that is readable for ever.
fn build(config: &Config) -> io::Result<(Runtime<TimeDriver<IoUringDriver>>, OwnedFd)> {
    // monoio needs a descriptor for its ring and one more, and leaks the ring when it does not get the other.
    // So both are taken first; and our threads start one after the other, so that none takes another's.
    static STARTING: Mutex<()> = Mutex::new(());
    let _alone = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    let bell = eventfd(1, EventfdFlags::CLOEXEC)?;
    let reserved = [eventfd(0, EventfdFlags::CLOEXEC)?, eventfd(0, EventfdFlags::CLOEXEC)?];
    drop(reserved);
    // This driver and no other: the one that falls back to epoll does so silently.
    let runtime = RuntimeBuilder::<IoUringDriver>::new()
        .with_entries(config.ring_entries)
        .uring_builder(config.ring())
        .enable_timer()
        .build()?;
    Ok((runtime, bell))
}
