//! Logging that cannot hurt: a subscriber that panics (standard error is closed, say) costs a line of the log, not
//! a worker, and not the thread that listens to signals.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a log entry; whatever the subscriber does, this returns.
pub(crate) fn guarded(entry: impl FnOnce()) {
    // Nothing of ours is inside the call that could be left half done.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(entry)) {
        std::mem::forget(payload); // its drop might panic as well
    }
}
