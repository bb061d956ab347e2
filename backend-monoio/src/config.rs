//! The knobs of a worker's ring, and the kernel that they need.

use io_uring_06::{Builder, IoUring};

/// monoio makes a ring at least this large.
const ENTRIES_MIN: u32 = 256;

/// The knobs of a monoio runtime. The defaults are the fastest that do not starve anybody.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// How many operations can be queued before they are handed to the kernel; there is room for twice as many
    /// completions. The kernel rounds up to a power of two, and locks about 100 bytes for each.
    ///
    /// Default: 1024, enough for a turn of a loop with that many ready connections. A full queue is handed
    /// over early, at the cost of one more system call. monoio raises anything below 256 to that.
    pub ring_entries: u32,
    /// How many buffers, of 20 KiB each, a worker may have lent out before a receive gets none in advance, but
    /// only when there is something to receive. As many are kept for reuse, and never fewer than 256.
    ///
    /// Default: 1024, for 20 MiB. Beyond it whoever waits holds no memory, and each message costs one more
    /// operation: 8 % of the CPU time of a 512-byte echo, nothing at 16 KiB, where the cache is worth more. It
    /// limits neither connections nor loans.
    pub waiting_buffers_max: usize,
    /// Completes operations only when the worker waits for some, instead of interrupting it each time. Implies
    /// `single_issuer`, makes `coop_taskrun` pointless, and needs kernel 6.1.
    ///
    /// Default: on. Against `coop_taskrun` it saves 0.3 to 1.2 % of the CPU time of an echo. That monoio waits
    /// only when no task can run does no harm: after a few thousand polls it is made to.
    pub defer_taskrun: bool,
    /// Completes operations when the worker enters the kernel anyway, instead of interrupting it each time.
    /// Needs kernel 5.19. Without effect when `defer_taskrun` is on.
    ///
    /// Default: on, for kernels where `defer_taskrun` has to be off. Against neither it saves 15 % of the CPU time
    /// of a 512-byte echo at 64 connections, and 4 % at 4.
    pub coop_taskrun: bool,
    /// Promises the kernel that only the worker's thread uses the ring, which is true. Needs kernel 6.0.
    ///
    /// Default: off; by itself it makes no difference that could be measured. `defer_taskrun` turns it on.
    pub single_issuer: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ring_entries: 1024,
            waiting_buffers_max: 1024,
            defer_taskrun: true,
            coop_taskrun: true,
            single_issuer: false,
        }
    }
}

impl Config {
    /// The ring as the kernel is asked for it.
    pub(crate) fn ring(&self) -> Builder {
        let mut ring = IoUring::builder();
        ring.setup_clamp(); // more entries than the kernel allows are its most, not an error
        if self.defer_taskrun {
            ring.setup_single_issuer().setup_defer_taskrun();
        } else {
            if self.coop_taskrun {
                ring.setup_coop_taskrun();
            }
            if self.single_issuer {
                ring.setup_single_issuer();
            }
        }
        ring
    }

    /// How many entries the ring really gets, at the least.
    pub(crate) fn entries(&self) -> u32 {
        self.ring_entries.max(ENTRIES_MIN)
    }

    /// The oldest kernel that has all of this.
    pub(crate) fn kernel_needed(&self) -> &'static str {
        match self {
            Self { defer_taskrun: true, .. } => "6.1",
            Self { single_issuer: true, .. } => "6.0",
            Self { coop_taskrun: true, .. } => "5.19",
            _ => "5.7", // a receive that waits without a kernel thread
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_knob_names_the_kernel_that_brought_it() {
        let mut config = Config::default();
        assert_eq!(config.kernel_needed(), "6.1");
        config.defer_taskrun = false;
        assert_eq!(config.kernel_needed(), "5.19");
        config.single_issuer = true;
        assert_eq!(config.kernel_needed(), "6.0");
        (config.single_issuer, config.coop_taskrun) = (false, false);
        assert_eq!(config.kernel_needed(), "5.7");
    }

    #[test]
    fn every_combination_of_knobs_makes_a_ring_here() {
        for bits in 0..8_u32 {
            let config = Config {
                ring_entries: 1 << (bits + 5),
                waiting_buffers_max: 0,
                coop_taskrun: bits & 1 != 0,
                single_issuer: bits & 2 != 0,
                defer_taskrun: bits & 4 != 0,
            };
            config.ring().build(config.entries()).expect("a ring");
        }
    }
}
