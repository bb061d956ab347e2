//! What it costs to acquire a resource that is idle and to give it back: the part of a request's path that the pool
//! adds. Ours beside bb8 and deadpool, which may be shared by threads and pay for that; a list in a `RefCell` is the
//! least that it could cost. Nothing is checked and no hook is set, in any of them.
//!
//! `cargo bench --bench pool`; under `cargo test` each runs once.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::convert::Infallible;

use corepool::backend::Tokio;
use corepool::{LocalPool, Resource, WorkerInfo};
use divan::black_box;
use futures_util::FutureExt;

fn main() {
    divan::main();
}

/// As large as a connection.
#[derive(Debug, Default)]
struct Large([u64; 16]);

impl Resource for Large {
    type Source = ();
    type Error = Infallible;

    async fn create((): &()) -> Result<Self, Infallible> {
        Ok(Self::default())
    }
}

#[divan::bench(sample_size = 1000)]
fn ours(bencher: divan::Bencher<'_, '_>) {
    let pool = LocalPool::<Large>::builder().build(&WorkerInfo::alone::<Tokio>(), ()).expect("a pool");
    bencher.bench_local(|| {
        let lease = pool.get().now_or_never().expect("at once").expect("a lease");
        black_box(lease.0[0]);
    });
}

#[divan::bench(sample_size = 1000)]
fn ours_without_a_future(bencher: divan::Bencher<'_, '_>) {
    let pool = LocalPool::<Large>::builder().build(&WorkerInfo::alone::<Tokio>(), ()).expect("a pool");
    drop(pool.get().now_or_never().expect("at once").expect("a lease"));
    bencher.bench_local(|| black_box(pool.try_get().expect("an idle one").0[0]));
}

struct Manager;

impl bb8::ManageConnection for Manager {
    type Connection = Large;
    type Error = Infallible;

    async fn connect(&self) -> Result<Large, Infallible> {
        Ok(Large::default())
    }

    async fn is_valid(&self, _: &mut Large) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut Large) -> bool {
        false
    }
}

#[divan::bench(sample_size = 1000)]
fn bb8(bencher: divan::Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let builder = bb8::Pool::builder().min_idle(1).test_on_check_out(false);
    let pool = runtime.block_on(builder.build(Manager)).expect("a pool");
    let _entered = runtime.enter(); // it makes a timer
    bencher.bench_local(|| {
        let lease = pool.get().now_or_never().expect("at once").expect("a lease");
        black_box(lease.0[0]);
    });
}

impl deadpool::managed::Manager for Manager {
    type Type = Large;
    type Error = Infallible;

    async fn create(&self) -> Result<Large, Infallible> {
        Ok(Large::default())
    }

    async fn recycle(
        &self,
        _: &mut Large,
        _: &deadpool::managed::Metrics,
    ) -> deadpool::managed::RecycleResult<Infallible> {
        Ok(())
    }
}

#[divan::bench(sample_size = 1000)]
fn deadpool(bencher: divan::Bencher<'_, '_>) {
    let pool = deadpool::managed::Pool::<Manager>::builder(Manager).max_size(16).build().expect("a pool");
    bencher.bench_local(|| {
        let lease = pool.get().now_or_never().expect("at once").expect("a lease");
        black_box(lease.0[0]);
    });
}

/// The least: take from a list and put back.
#[divan::bench(sample_size = 1000)]
fn list(bencher: divan::Bencher<'_, '_>) {
    let list = RefCell::new(vec![Large::default()]);
    bencher.bench_local(|| {
        let large = black_box(list.borrow_mut().pop().expect("one"));
        list.borrow_mut().push(large);
    });
}
