//! A message costs no allocation, neither of ours nor of monoio's.

use std::alloc::System;

use corepool_monoio::Monoio;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_message_costs_no_allocation() {
    let count = || {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    };
    corepool_testkit::allocations::<Monoio>(count, 0);
}
