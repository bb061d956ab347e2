//! The generator allocates nothing per request.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use corepool_lab::generator::Fleet;
use corepool_lab::workload::Workload;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread.
struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Allocations of this thread while thousands of requests are made in a few
/// slices.
fn allocations(workload: &Workload) -> (u64, u64) {
    let mut fleet = Fleet::connect(support::echo(), workload).unwrap();
    let before = ALLOCATIONS.get();
    let (mut slices, mut requests) = (0, 0);
    while requests < 5000 {
        requests += fleet.run(Duration::from_millis(100)).unwrap().requests;
        slices += 1;
    }
    let allocated = ALLOCATIONS.get() - before;
    assert_eq!(fleet.take_faults().total(), 0);
    (allocated, slices)
}

#[test]
fn persistent_connections_allocate_once_per_slice() {
    let (allocated, slices) = allocations(&Workload::default());
    assert_eq!(allocated, slices);
}

#[test]
fn opening_connections_anew_allocates_no_more() {
    let mut workload = Workload::default();
    workload.requests_per_connection = 1;
    let (allocated, slices) = allocations(&workload);
    assert_eq!(allocated, slices);
}
