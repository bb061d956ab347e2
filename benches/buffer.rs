//! What it costs to take a buffer of the pool and give it back, against the heap: the part of the path of a
//! message that is corepool's own and can be measured alone.
//!
//! `cargo bench --bench buffer`; under `cargo test` each runs once.
#![forbid(unsafe_code)]

use std::task::Poll;

use corepool::buffer::{BUFFER_SIZE, BufferPool};

fn main() {
    divan::main();
}

/// The buffer that was given back last is taken again: an exchange of one message at a time.
#[divan::bench(sample_size = 1000)]
fn take_and_drop(bencher: divan::Bencher<'_, '_>) {
    let pool = BufferPool::new(BUFFER_SIZE, 256);
    bencher.bench_local(|| drop(divan::black_box(pool.take())));
}

/// As a readiness backend receives 512 bytes.
#[divan::bench(sample_size = 1000)]
fn receive_and_drop(bencher: divan::Bencher<'_, '_>) {
    let pool = BufferPool::new(BUFFER_SIZE, 256);
    bencher.bench_local(|| drop(divan::black_box(pool.receive(|_space| Poll::Ready(Ok(512))))));
}

/// As it finds that nothing has arrived: nothing is lent.
#[divan::bench(sample_size = 1000)]
fn receive_nothing(bencher: divan::Bencher<'_, '_>) {
    let pool = BufferPool::new(BUFFER_SIZE, 256);
    bencher.bench_local(|| drop(divan::black_box(pool.receive(|_space| Poll::Pending))));
}

/// Sixteen are out at a time: the free list works.
#[divan::bench(sample_size = 1000)]
fn take_and_drop_sixteen(bencher: divan::Bencher<'_, '_>) {
    let pool = BufferPool::new(BUFFER_SIZE, 256);
    bencher.bench_local(|| drop(divan::black_box([(); 16].map(|()| pool.take()))));
}

/// The same memory from the heap, not initialised.
#[divan::bench(sample_size = 1000)]
fn heap(bencher: divan::Bencher<'_, '_>) {
    bencher.bench_local(|| drop(divan::black_box(Vec::<u8>::with_capacity(BUFFER_SIZE))));
}
