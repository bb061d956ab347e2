//! Acquiring an idle resource and giving it back allocates nothing.

use std::alloc::System;
use std::convert::Infallible;

use corepool::backend::Tokio;
use corepool::{LocalPool, Resource, WorkerInfo};
use futures_util::FutureExt;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

struct Number(u64);

impl Resource for Number {
    type Source = ();
    type Error = Infallible;

    async fn create((): &()) -> Result<Self, Infallible> {
        Ok(Self(0))
    }
}

#[test]
fn a_lease_of_an_idle_resource_costs_no_allocation() {
    let pool = LocalPool::<Number>::builder().build(&WorkerInfo::alone::<Tokio>(), ()).expect("a pool");
    let lend = |times: u64| {
        for _ in 0..times {
            let mut lease = pool.get().now_or_never().expect("at once").expect("a lease");
            lease.0 += 1;
        }
    };
    lend(10);
    let before = ALLOCATOR.stats();
    lend(1000);
    let after = ALLOCATOR.stats();
    assert_eq!(after.allocations + after.reallocations, before.allocations + before.reallocations);
    assert_eq!(pool.try_get().expect("idle").0, 1010);
}
