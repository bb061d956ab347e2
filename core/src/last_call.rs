//! When the listeners may be closed: not before everything that the kernel has queued for them is accepted.
//! Decisions only.
//!
//! Closing a listener resets what is queued for it. So at first new handshakes are kept out, where the kernel
//! lets us; then everything is accepted, again and again, until one whole pass finds nothing, queued or half
//! open, on any worker; and then all close.

use std::time::Duration;

/// How long a pass takes: a handshake whose last part is under way arrives meanwhile.
pub(crate) const PASS: Duration = Duration::from_millis(10);

/// How many passes are waited for those that are half open, or for a worker that does not get to accept.
const PASSES_MAX: u32 = 100;

/// How many passes there are when new handshakes cannot be kept out: whoever connects then is reset.
const PASSES_UNFILTERED: u32 = 1;

/// One worker's way to closed listeners.
#[derive(Debug)]
pub(crate) struct LastCall {
    /// New handshakes are kept out.
    is_filtered: bool,
    passes: u32,
    is_quiet: bool,
}

/// What to do after a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Another one.
    Again,
    /// Another one; and this worker has nothing left, which it says once.
    Quiet,
    /// Close.
    Close,
}

impl LastCall {
    pub(crate) fn new(is_filtered: bool) -> Self {
        Self { is_filtered, passes: 0, is_quiet: false }
    }

    /// A pass is over. `found`: how many connections were accepted or are half open. `all_quiet`: no worker has
    /// anything left.
    pub(crate) fn pass(&mut self, found: usize, all_quiet: bool) -> Step {
        self.passes += 1;
        let passes_max = if self.is_filtered { PASSES_MAX } else { PASSES_UNFILTERED };
        if self.passes >= passes_max || (self.is_quiet && all_quiet) {
            return Step::Close;
        }
        if found > 0 || self.is_quiet {
            return Step::Again;
        }
        self.is_quiet = true;
        Step::Quiet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_closes_when_nobody_has_anything_left() {
        let mut last_call = LastCall::new(true);
        assert_eq!(last_call.pass(3, false), Step::Again);
        assert_eq!(last_call.pass(0, false), Step::Quiet);
        assert_eq!(last_call.pass(0, false), Step::Again);
        assert_eq!(last_call.pass(0, true), Step::Close);
    }

    #[test]
    fn it_does_not_wait_for_ever() {
        let mut last_call = LastCall::new(true);
        let passes = (1..=2 * PASSES_MAX).find(|_| last_call.pass(1, false) == Step::Close);
        assert_eq!(passes, Some(PASSES_MAX));
    }

    #[test]
    fn without_a_filter_one_pass_more_is_all() {
        assert_eq!(LastCall::new(false).pass(5, false), Step::Close);
    }
}
