//! What admission costs a connection that is served where it was accepted: one permit taken and given back, which
//! is all that is done for it. Nothing is allocated, as the profile shows.
//!
//! `cargo bench --bench admission`; under `cargo test` each runs once.
#![forbid(unsafe_code)]

use corepool_core::measure::Permits;

#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// Nobody else uses the worker's word: the usual case.
#[divan::bench(sample_size = 1000)]
fn uncontended(bencher: divan::Bencher<'_, '_>) {
    let permits = Permits::new(1024);
    bencher.bench_local(|| assert!(permits.take_and_release()));
}
