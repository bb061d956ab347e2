//! The user's code, called where its panic must not get out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls the user's code; `None` if it panicked. The panic hook has reported it by then.
pub(crate) fn contain<T>(call: impl FnOnce() -> T) -> Option<T> {
    // Nothing that the call may have left half done is used again: the caller drops it next.
    catch_unwind(AssertUnwindSafe(call)).map_err(dispose).ok()
}

/// Drops what a panic carried; if that panics as well, it is leaked rather than let loose on the worker.
fn dispose(payload: Box<dyn Any + Send>) {
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(again);
    }
}
