//! Tasks that are counted, and whose panics come to who waits for them.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, resume_unwind};

use async_channel::Receiver;
use corepool_core::backend::Backend;
use futures_util::FutureExt;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// How many tasks of this thread have not ended.
pub(crate) fn live() -> usize {
    LIVE.get()
}

/// A spawned task, and its result. Dropping this does not end the task.
#[derive(Debug)]
pub struct Task<T>(Receiver<Result<T, Box<dyn Any + Send>>>);

/// Spawns a task that is counted until it ends.
pub(crate) fn spawn<B: Backend, T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
    let (over, result) = async_channel::bounded(1);
    let live = Live::new();
    B::spawn_local(async move {
        let output = AssertUnwindSafe(future).catch_unwind().await;
        drop(live);
        let _nobody_waits = over.send(output).await;
    });
    Task(result)
}

impl<T> Task<T> {
    /// Waits for the task's end.
    ///
    /// # Panics
    /// When the task has panicked.
    pub async fn join(self) -> T {
        let output = self.0.recv().await.expect("the task was dropped");
        output.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

struct Live;

impl Live {
    fn new() -> Self {
        LIVE.set(LIVE.get() + 1);
        Self
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.set(LIVE.get() - 1);
    }
}
