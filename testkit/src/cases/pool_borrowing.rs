//! Pools of several cores that help each other out, with connections to another server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_channel::{Receiver, Sender};
use corepool_core::pool::{Sharing, Upstream};
use corepool_core::{Connection, Handler, LocalPool, Outbound, WorkerInfo};

use super::pool::until;
use super::pool_upstream::exchange;
use super::server_pool::{Relay, exchange_with_many};
use crate::bench::on;
use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{Life, start};
use crate::served::{Served, config, serve, serve_with};

type Connections<B> = LocalPool<Outbound<B>>;

/// A pool of one connection of its own, and its worker.
fn one<B: SocketBackend>(sharing: &Sharing<Outbound<B>>, to: SocketAddr) -> (Connections<B>, WorkerInfo) {
    let worker = WorkerInfo::alone::<B>();
    let builder = LocalPool::builder().max_size(1).share(sharing);
    (builder.build(&worker, Upstream::new([to])).unwrap(), worker)
}

/// What two threads tell each other.
type Tells = (Sender<()>, Receiver<()>);

fn tells() -> (Tells, Tells) {
    let (here, there) = (async_channel::bounded(1), async_channel::bounded(1));
    ((here.0, there.1), (there.0, here.1))
}

/// Keeps an idle connection while another thread does what it wants with it; it is back then, and has been used.
fn lender<B: SocketBackend>(sharing: Sharing<Outbound<B>>, to: SocketAddr, tells: Tells) -> Life<()> {
    start(move || {
        on::<B, _>(async || {
            let (pool, _worker) = one(&sharing, to);
            let mut lease = pool.get().await.unwrap();
            exchange(&mut lease, b"of the lender").await;
            lease.settle();
            drop(lease);
            tells.0.send(()).await.unwrap();
            tells.1.recv().await.unwrap();
            until::<B>(|| pool.stats().lent == 0).await;
            let mut lease = pool.get().await.unwrap();
            exchange(&mut lease, b"of the lender again").await;
            lease.settle();
            assert!(pool.stats().given >= 1, "{:?}", pool.stats());
            drop(lease);
            pool.close();
            pool.drained().await;
        });
    })
}

/// Runs `borrow` with a pool that shares with a lender's, whose only connection is idle. Then the lender looks whether
/// it has it back. The server that both have connected to goes on.
fn beside_a_lender<B: SocketBackend>(
    borrow: impl AsyncFnOnce(&Sharing<Outbound<B>>, &Connections<B>, &WorkerInfo),
) -> Served {
    let server = serve::<B, _>(&config(1), Echo);
    let (sharing, (here, there)) = (Sharing::new(), tells());
    let lender = lender::<B>(sharing.clone(), server.address(), there);
    on::<B, _>(async || {
        here.1.recv().await.unwrap();
        let (pool, worker) = one(&sharing, server.address());
        borrow(&sharing, &pool, &worker).await;
        here.0.send(()).await.unwrap();
        pool.close();
    });
    lender.join();
    server
}

pub(super) fn an_idle_connection_of_another_core_is_used_and_goes_home<B: SocketBackend>() {
    let server = beside_a_lender::<B>(async |_sharing, pool, _worker| {
        for round in 1..=20 {
            let own = pool.get().await.unwrap();
            let mut borrowed = pool.get().await.unwrap();
            exchange(&mut borrowed, b"of the borrower").await;
            borrowed.settle();
            assert_eq!((pool.stats().borrowed, pool.stats().size), (1, 2));
            drop(borrowed); // and nobody waits
            assert_eq!((pool.stats().borrowed, pool.stats().size, pool.stats().received), (0, 1, round));
            drop(own);
        }
        until::<B>(|| pool.stats().given == 20).await; // a pool that ends sends nothing any more
        assert_eq!((pool.stats().created, pool.stats().retired.total()), (1, 0));
    });
    assert_eq!(server.end().total(|counts| counts.completed), 2, "connections were made for it");
}

pub(super) fn a_borrower_that_leaves_gives_back_what_it_has<B: SocketBackend>() {
    let server = beside_a_lender::<B>(async |sharing, pool, worker| {
        let leases = [pool.get().await.unwrap(), pool.get().await.unwrap()];
        assert_eq!(pool.stats().borrowed, 1);
        worker.upkeep().close();
        drop(leases);
        assert_eq!(sharing.pools(), 1);
        pool.drained().await;
    });
    server.end();
}

pub(super) fn an_acquire_that_is_given_up_costs_the_lender_nothing<B: SocketBackend>() {
    let server = beside_a_lender::<B>(async |_sharing, pool, _worker| {
        let own = pool.get().await.unwrap();
        for _ in 0..100 {
            let mut asked = Box::pin(pool.get());
            assert!(futures_util::poll!(asked.as_mut()).is_pending());
            if fastrand::bool() {
                crate::bench::turn::<B>().await;
            }
            drop(asked);
        }
        drop(pool.get().await.unwrap());
        drop(own);
        until::<B>(|| pool.stats().borrowed == 0).await;
    });
    server.end();
}

/// An echo that counts its connections.
#[derive(Clone, Default)]
struct Counting {
    live: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl<B: SocketBackend> Handler<B> for Counting {
    async fn serve(&self, connection: Connection<B>) -> io::Result<()> {
        let live = self.live.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(live, Ordering::SeqCst);
        let served = Echo.serve(connection).await;
        self.live.fetch_sub(1, Ordering::SeqCst);
        served
    }
}

pub(super) fn all_together_never_have_more_than_the_sum<B: SocketBackend>() {
    let counting = Counting::default();
    let most = Arc::clone(&counting.most);
    let echo = serve::<B, _>(&config(1), counting);
    let (sharing, address) = (Sharing::new(), echo.address());
    let server = serve_with::<B, _>(&config(2), move |worker| {
        let builder = LocalPool::builder().max_total(4).share(&sharing);
        Relay { pool: builder.build(worker, Upstream::new([address])).unwrap() }
    });
    exchange_with_many(&server, 30);
    server.end();
    echo.end();
    assert!((1..=4).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}
