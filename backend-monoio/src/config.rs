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
    /// Completes operations when the worker enters the kernel anyway, instead of interrupting it each time.
    /// Needs kernel 5.19.
    ///
    /// Default: on. It saves 15 % of the CPU time of a 512-byte echo at 64 connections, and 4 % at 4.
    pub coop_taskrun: bool,
    /// Promises the kernel that only the worker's thread uses the ring. Needs kernel 6.0.
    ///
    /// Default: off. It is true, and made no difference that could be measured.
    pub single_issuer: bool,
    /// Completes operations only when the worker waits for some. Implies `single_issuer`, and needs kernel 6.1.
    ///
    /// Default: off. It saves another 0.5 to 1 % at 512 bytes; but monoio waits only when no task can run, so
    /// that one task which never stops being ready keeps every connection of its core from making progress.
    pub defer_taskrun: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { ring_entries: 1024, coop_taskrun: true, single_issuer: false, defer_taskrun: false }
    }
}

impl Config {
    /// The ring as the kernel is asked for it.
    pub(crate) fn ring(&self) -> Builder {
        let mut ring = IoUring::builder();
        ring.setup_clamp(); // more entries than the kernel allows are its most, not an error
        if self.coop_taskrun {
            ring.setup_coop_taskrun();
        }
        if self.single_issuer || self.defer_taskrun {
            ring.setup_single_issuer();
        }
        if self.defer_taskrun {
            ring.setup_defer_taskrun();
        }
        ring
    }

    /// How many entries the ring really gets, at the least.
    pub(crate) fn entries(&self) -> u32 {
        self.ring_entries.max(ENTRIES_MIN)
    }

    /// The oldest kernel that has all of this.
    pub(crate) fn kernel_needed(&self) -> &'static str {
        if self.defer_taskrun {
            "6.1"
        } else if self.single_issuer {
            "6.0"
        } else if self.coop_taskrun {
            "5.19"
        } else {
            "5.7" // a receive that waits without a kernel thread
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_knob_names_the_kernel_that_brought_it() {
        let mut config = Config { coop_taskrun: false, ..Config::default() };
        assert_eq!(config.kernel_needed(), "5.7");
        config.coop_taskrun = true;
        assert_eq!(config.kernel_needed(), "5.19");
        config.single_issuer = true;
        assert_eq!(config.kernel_needed(), "6.0");
        config.defer_taskrun = true;
        assert_eq!(config.kernel_needed(), "6.1");
    }

    #[test]
    fn every_combination_of_knobs_makes_a_ring_here() {
        for bits in 0..8_u32 {
            let config = Config {
                ring_entries: 1 << (bits + 5),
                coop_taskrun: bits & 1 != 0,
                single_issuer: bits & 2 != 0,
                defer_taskrun: bits & 4 != 0,
            };
            config.ring().build(config.entries()).expect("a ring");
        }
    }
}
