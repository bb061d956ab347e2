//! A pool in a server: each worker has its own, and looks after it.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use corepool_core::pool::{Builder, Upstream};
use corepool_core::{Backend, Connection, Handler, LocalPool, Outbound, WorkerInfo, start as start_server};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::{BlackHole, Life, Peer, start};
use crate::served::{Served, config, serve, serve_with};

/// Sends what a client sends to an echo, over a connection of the pool, and the answer back.
pub(super) struct Relay<B: Backend> {
    pub(super) pool: LocalPool<Outbound<B>>,
}

impl<B: Backend> Handler<B> for Relay<B> {
    async fn serve(&self, mut client: Connection<B>) -> io::Result<()> {
        while let Some(question) = client.recv().await? {
            let mut upstream = self.pool.get().await?;
            let mut missing = question.len();
            upstream.send(question).await?;
            while missing > 0 {
                let answer = upstream.recv().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                missing -= answer.len();
                client.send(answer).await?;
            }
            upstream.settle();
        }
        Ok(())
    }
}

/// Holds a lease for ever.
struct Hold<B: Backend>(Relay<B>);

impl<B: Backend> Handler<B> for Hold<B> {
    async fn serve(&self, mut client: Connection<B>) -> io::Result<()> {
        let _lease = self.0.pool.get().await?;
        client.send("!").await?;
        pending().await
    }
}

fn relay<B: SocketBackend>(
    worker: &WorkerInfo,
    address: SocketAddr,
    configure: fn(Builder<Outbound<B>>) -> Builder<Outbound<B>>,
) -> Relay<B> {
    Relay { pool: configure(LocalPool::builder()).build(worker, Upstream::new([address])).unwrap() }
}

/// A server of relays to an echo, and the echo.
fn relays<B: SocketBackend>(
    workers: usize,
    configure: fn(Builder<Outbound<B>>) -> Builder<Outbound<B>>,
) -> (Served, Served) {
    let echo = serve::<B, _>(&config(1), Echo);
    let address = echo.address();
    let server = serve_with::<B, _>(&config(workers), move |worker| relay(worker, address, configure));
    (server, echo)
}

/// So many clients at a time, each with exchanges of every length up to 49 bytes.
pub(super) fn exchange_with_many(server: &Served, clients: usize) {
    let exchange = |mut peer: Peer| (1..50).for_each(|length| peer.exchange(length));
    let clients: Vec<_> = (0..clients).map(|_| server.connect().spawn(exchange)).collect();
    clients.into_iter().for_each(Life::join);
}

pub(super) fn many_clients_share_few_connections_and_none_gets_anothers_answer<B: SocketBackend>() {
    let (server, echo) = relays::<B>(2, |builder| builder.max_total(5));
    exchange_with_many(&server, 40);
    server.end();
    let upstream = echo.end();
    assert!((1..=5).contains(&upstream.total(|counts| counts.completed)), "{upstream:?}");
}

pub(super) fn idle_connections_of_a_pool_do_not_hold_up_a_shutdown<B: SocketBackend>() {
    let (server, echo) = relays::<B>(1, |builder| builder.min_idle(5));
    echo.until(|stats| stats.active() == 5);
    server.connect().exchange(100);
    server.end();
    echo.until(|stats| stats.active() == 0);
    echo.end();
}

pub(super) fn leases_that_are_out_do_not_hold_up_an_abort<B: SocketBackend>() {
    let echo = serve::<B, _>(&config(1), Echo);
    let address = echo.address();
    let hold = move |worker: &WorkerInfo| Hold(relay::<B>(worker, address, |builder| builder.max_size(2)));
    let server = serve_with::<B, _>(&config(1).grace(Duration::from_secs(3600)), hold);
    let mut clients = [(); 2].map(|()| server.connect());
    for client in &mut clients {
        assert_eq!(client.ask::<1>(b'?'), *b"!");
    }
    let waiting = server.connect(); // for a lease
    server.until(|stats| stats.active() == 3);
    server.handle().abort();
    server.join();
    drop((clients, waiting));
    echo.until(|stats| stats.active() == 0);
    echo.end();
}

pub(super) fn a_total_is_split_over_the_workers<B: SocketBackend>() {
    let sizes: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&sizes);
    let server = serve_with::<B, _>(&config(3), move |worker| {
        let pool = LocalPool::<Outbound<B>>::builder().max_size(100).max_total(8);
        let pool = pool.build(worker, Upstream::new([([127, 0, 0, 1], 1)])).unwrap();
        let too_few = LocalPool::<Outbound<B>>::builder().max_total(2);
        let error = too_few.build(worker, Upstream::new([([127, 0, 0, 1], 1)])).unwrap_err();
        assert_eq!(error.to_string(), "max_total is 2: at least 1 for each of the 3 workers");
        noted.lock().unwrap().push(pool.stats().max);
        Relay { pool }
    });
    server.end();
    let mut sizes = sizes.lock().unwrap().clone();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 3, 3]);
}

/// It is swept although no connection is open.
pub(super) fn a_server_without_clients_keeps_its_pool_fresh<B: SocketBackend>() {
    let (server, echo) =
        relays::<B>(1, |builder| builder.min_idle(2).max_lifetime(Some(Duration::from_millis(1))));
    echo.until(|stats| stats.total(|counts| counts.completed) >= 4 && stats.active() == 2);
    server.end();
    echo.end();
}

pub(super) fn a_pool_that_is_being_filled_does_not_hold_up_a_shutdown<B: SocketBackend>() {
    let hole = BlackHole::new();
    let address = hole.address();
    let server = serve_with::<B, _>(&config(1), move |worker| {
        relay::<B>(worker, address, |builder| builder.min_idle(1).acquire_timeout(Duration::from_secs(3600)))
    });
    let ending = start(|| server.end());
    ending.join();
}

pub(super) fn a_factory_that_panics_after_it_has_made_a_pool_leaves_nothing<B: SocketBackend>() {
    let hole = BlackHole::new();
    let address = hole.address();
    let factory = move |worker: &WorkerInfo| -> Relay<B> {
        let _filling = relay::<B>(worker, address, |builder| builder.min_idle(2));
        panic!("of the factory")
    };
    let error = start_server::<B, _>(&config(2), &B::Config::default(), factory).unwrap_err();
    assert!(error.to_string().contains("cannot start"), "{error}");
}
