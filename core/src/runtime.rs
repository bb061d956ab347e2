//! What long-lived parts need of a runtime, without naming its backend: for what happens once in a while, boxed.

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::backend::Backend;

/// A future of a part that does not know its backend.
pub(crate) type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// The runtime of this thread.
#[derive(Clone, Copy)]
pub(crate) struct Runtime {
    pub(crate) spawn: fn(Boxed),
    pub(crate) sleep: fn(Duration) -> Boxed,
    pub(crate) now: fn() -> Instant,
}

impl Runtime {
    pub(crate) fn of<B: Backend>() -> Self {
        Self { spawn: |future| B::spawn_local(future), sleep: |time| Box::pin(B::sleep(time)), now: B::now }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}
