//! What the processor and the kernel count for a server where they are allowed
//! to: hardware events, and system calls.
//!
//! Hardware counters cost nothing. Counting system calls makes each of them
//! dearer, for the whole machine; so it is done in slices that are not measured
//! otherwise, and stops when [`Counters`] that were told to are dropped.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use perf_event::events::{Hardware, Tracepoint};
use perf_event::{Builder, Counter};
use serde::Serialize;

/// Something that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counted {
    /// Instructions, user and kernel.
    Instructions,
    /// Cycles of the core.
    Cycles,
    /// Misses of the last cache.
    CacheMisses,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// System calls.
    SystemCalls,
}

/// How often each has happened; none where it cannot be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([Option<u64>; Counted::ALL.len()]);

/// Counters of every thread of some processes, and of those that they start.
#[derive(Debug)]
pub struct Counters {
    counters: Vec<(Counted, Counter)>,
}

impl Counted {
    /// Everything that can be counted.
    pub const ALL: [Self; 5] =
        [Self::Instructions, Self::Cycles, Self::CacheMisses, Self::BranchMisses, Self::SystemCalls];
    /// What costs nothing to count.
    pub const HARDWARE: &[Self] = &[Self::Instructions, Self::Cycles, Self::CacheMisses, Self::BranchMisses];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::CacheMisses => "cache misses",
            Self::BranchMisses => "branch misses",
            Self::SystemCalls => "system calls",
        }
    }

    fn counter(self, thread: i32) -> io::Result<Counter> {
        let mut builder = match self {
            Self::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            Self::Cycles => Builder::new(Hardware::CPU_CYCLES),
            Self::CacheMisses => Builder::new(Hardware::CACHE_MISSES),
            Self::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
            Self::SystemCalls => Builder::new(Tracepoint::with_id(system_calls_tracepoint()?)),
        };
        builder.observe_pid(thread).include_kernel().inherit(true).enabled(true).build()
    }
}

impl Counts {
    /// How often it has happened.
    #[must_use]
    pub const fn of(&self, counted: Counted) -> Option<u64> {
        self.0[counted as usize]
    }

    /// What has happened since.
    #[must_use]
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self(Counted::ALL.map(|counted| Some(self.of(counted)?.saturating_sub(earlier.of(counted)?))))
    }

    /// Adds what another slice has counted.
    pub(super) fn append(&mut self, other: &Self) {
        for counted in Counted::ALL {
            let (sum, more) = (&mut self.0[counted as usize], other.of(counted));
            *sum = sum.map_or(more, |sum| Some(sum + more.unwrap_or(0)));
        }
    }
}

impl Counters {
    /// Counts from now on for these threads; what cannot be counted for all of
    /// them is left out.
    #[must_use]
    pub fn attach(threads: &[i32], wanted: &[Counted]) -> Self {
        let attach = |counted: Counted| {
            let counters = threads.iter().map(|&thread| counted.counter(thread));
            let counters = counters.collect::<io::Result<Vec<_>>>().unwrap_or_default();
            counters.into_iter().map(move |counter| (counted, counter))
        };
        Self { counters: wanted.iter().copied().flat_map(attach).collect() }
    }

    /// How often each has happened since then.
    pub fn read(&mut self) -> Counts {
        let mut counts = Counts::default();
        for (counted, counter) in &mut self.counters {
            let sum = &mut counts.0[*counted as usize];
            *sum = counter.read().ok().map(|count| count + sum.unwrap_or(0));
        }
        counts
    }
}

/// What cannot be counted on this machine, and why.
#[must_use]
pub fn absent() -> BTreeMap<String, String> {
    let myself = i32::try_from(std::process::id()).unwrap_or_default();
    let reason = |counted: Counted| {
        let error = counted.counter(myself).err()?;
        Some((counted.name().to_owned(), explain(counted, &error)))
    };
    Counted::ALL.into_iter().filter_map(reason).collect()
}

fn explain(counted: Counted, error: &io::Error) -> String {
    let reason = match (error.kind(), counted) {
        (io::ErrorKind::NotFound, Counted::SystemCalls) => {
            "the kernel has no tracepoints here, or hides them"
        }
        (io::ErrorKind::NotFound, _) => "this machine has no such counter, as most virtual machines",
        (io::ErrorKind::PermissionDenied, _) => {
            "not allowed; run as root, or set kernel.perf_event_paranoid to 1 or less (-1 for system calls)"
        }
        _ => return error.to_string(),
    };
    format!("{reason} ({error})")
}

fn system_calls_tracepoint() -> io::Result<u64> {
    let folders = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let read = |folder: &str| fs::read_to_string(format!("{folder}/events/raw_syscalls/sys_enter/id"));
    let text = folders.into_iter().map(read).reduce(Result::or);
    let text = text.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))?;
    text.trim().parse().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_can_be_counted_is_and_the_rest_has_a_reason() {
        let absent = absent();
        let myself = rustix::thread::gettid().as_raw_nonzero().get();
        let mut counters = Counters::attach(&[myself], &Counted::ALL);
        let before = counters.read();
        for _ in 0..50 {
            std::thread::yield_now();
        }
        let spent = counters.read().since(&before);
        for counted in Counted::ALL {
            match absent.get(counted.name()) {
                Some(reason) => {
                    assert!(reason.len() > 10, "{reason}");
                    assert_eq!(spent.of(counted), None);
                }
                None if counted == Counted::SystemCalls => assert!(spent.of(counted).unwrap() >= 50),
                None => assert!(spent.of(counted).is_some()),
            }
        }
    }

    #[test]
    fn what_is_unknown_stays_unknown_and_the_rest_adds_up() {
        let mut sum = Counts::default();
        let mut one = Counts::default();
        one.0[Counted::Cycles as usize] = Some(5);
        sum.append(&one);
        sum.append(&one);
        assert_eq!(sum.of(Counted::Cycles), Some(10));
        assert_eq!(sum.of(Counted::Instructions), None);
        assert_eq!(sum.since(&one).of(Counted::Cycles), Some(5));
    }
}
