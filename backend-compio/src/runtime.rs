//! Starting one compio runtime on a ring, and driving one future on it.

use std::io;
use std::rc::Rc;

use compio::driver::DriverType;
use compio::runtime::{Runtime, submit};
use corepool_core::backend::Backend;
use corepool_core::cores::CoreId;
use corepool_core::error::Unavailable;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::memory::Current;
use crate::op::Withdraw;
use crate::{Compio, Config};

/// See `Backend::run`.
pub(crate) fn run<F: Future>(
    core: Option<CoreId>,
    config: &Config,
    root: impl FnOnce(&'static str) -> F,
) -> Result<F::Output, Unavailable> {
    core.map_or(Ok(()), corepool_os::pin).map_err(|error| {
        let advice = "Choose cores of this process's affinity mask";
        Unavailable::new(Compio::NAME, error.to_string(), advice, error)
    })?;
    let builder = config.builder()?;
    let runtime = builder.build().and_then(prove).map_err(|error| {
        corepool_os::ring::explain(Compio::NAME, config.ring_entries, config.kernel_needed(), error)
    })?;
    let _current = Current::new(config.waiting_buffers_max);
    Ok(runtime.block_on(async {
        // compio polls the future of `block_on` in every turn of its loop; this polls the root when it was woken.
        let mut only = FuturesUnordered::from_iter([root(DRIVER)]);
        only.next().await.unwrap_or_else(|| unreachable!("it has one future"))
    }))
}

const DRIVER: &str = "io_uring";

/// Proves that operations really go through a ring, all the way and back, and that it knows the newest one we use.
fn prove(runtime: Runtime) -> io::Result<Runtime> {
    if runtime.driver_type() != DriverType::IoUring {
        return Err(io::Error::other(format!("compio chose the driver {:?}", runtime.driver_type())));
    }
    let (idle, _other_end) = io::pipe()?;
    let withdrawn = runtime.block_on(async { submit(Withdraw(Rc::new(idle))).await.0 })?;
    debug_assert_eq!(withdrawn, 0, "nothing was in flight");
    Ok(runtime)
}
