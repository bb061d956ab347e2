//! A message costs no allocation, neither of ours nor of tokio's.

use std::alloc::System;

use corepool_tokio::Tokio;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_message_costs_no_allocation() {
    let count = || {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    };
    corepool_testkit::allocations::<Tokio>(count, 0);
}
