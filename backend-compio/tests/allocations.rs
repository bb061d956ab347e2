//! A message costs none of our allocations, and two of compio's: it boxes each operation, a receive and a send.

use std::alloc::System;

use corepool_compio::Compio;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_message_costs_two_allocations_of_compio() {
    let count = || {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    };
    corepool_testkit::allocations::<Compio>(count, 2);
}
