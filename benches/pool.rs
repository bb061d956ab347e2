//! What it costs to acquire a resource that is idle and to give it back: the part of a request's path that the pool
//! adds. Ours beside bb8 and deadpool, which may be shared by threads and pay for that; a list in a `RefCell` is the
//! least that it could cost. Nothing is checked and no hook is set, in any of them. And what it costs to share with the
//! pool of another core, and to borrow from it.
//!
//! `cargo bench --bench pool`; under `cargo test` each runs once.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::net::TcpListener;
use std::thread;

use corepool::backend::Tokio;
use corepool::pool::{Movable, Sharing, Upstream};
use corepool::{LocalPool, Outbound, Resource, WorkerInfo};
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

impl Movable for Large {
    type Packed = Self;

    async fn pack(self) -> Option<Self> {
        Some(self)
    }

    fn unpack(packed: Self, (): &()) -> Option<Self> {
        Some(packed)
    }
}

/// As [`ours`], of a pool that shares with another core's, and has no need to.
#[divan::bench(sample_size = 1000)]
fn ours_that_shares(bencher: divan::Bencher<'_, '_>) {
    let runtime = Runtime::new();
    let builder = LocalPool::<Large>::builder().share(&Sharing::new());
    let pool = runtime.run(async { builder.build(&WorkerInfo::alone::<Tokio>(), ()).expect("a pool") });
    bencher.bench_local(|| {
        let lease = pool.get().now_or_never().expect("at once").expect("a lease");
        black_box(lease.0[0]);
    });
}

/// A connection of another core's pool is borrowed and given back: two moves of a descriptor, two wakes of the other thread
/// and one of this.
#[divan::bench(sample_size = 10)]
fn borrowed_connection(bencher: divan::Bencher<'_, '_>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let upstream = Upstream::new([listener.local_addr().expect("an address")]);
    let sharing = Sharing::<Outbound<Tokio>>::new();
    let one = |sharing: &Sharing<_>, upstream: &Upstream| {
        let builder = LocalPool::builder().max_size(1).share(sharing);
        builder.build(&WorkerInfo::alone::<Tokio>(), upstream.clone()).expect("a pool")
    };
    let (over, is_over) = async_channel::bounded::<()>(1);
    let (ready, is_ready) = async_channel::bounded::<()>(1);
    let lender = thread::spawn({
        let (sharing, upstream) = (sharing.clone(), upstream.clone());
        move || {
            Runtime::new().run(async {
                let pool = one(&sharing, &upstream);
                drop(pool.get().await.expect("a connection"));
                ready.send(()).await.expect("somebody waits");
                let _closed = is_over.recv().await;
            });
        }
    });
    let runtime = Runtime::new();
    let pool = runtime.run(async { one(&sharing, &upstream) });
    let own = runtime.run(async {
        is_ready.recv().await.expect("a lender");
        pool.get().await.expect("a connection")
    });
    bencher.bench_local(|| runtime.run(async { drop(pool.get().await.expect("one of the other's")) }));
    runtime.run(async { drop((own, pool)) });
    drop(over);
    lender.join().expect("a lender that ends");
}

/// A runtime of this thread.
struct Runtime {
    runtime: tokio::runtime::Runtime,
    tasks: tokio::task::LocalSet,
}

impl Runtime {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, tasks: tokio::task::LocalSet::new() }
    }

    fn run<F: Future>(&self, future: F) -> F::Output {
        self.tasks.block_on(&self.runtime, future)
    }
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
