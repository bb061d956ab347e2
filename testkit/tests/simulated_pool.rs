//! Connecting and pooling in many simulated worlds: whatever the order of events, nothing is lost or mixed up.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use corepool_core::outbound::all_closed;
use corepool_core::pool::{Lease, PoolStats, Upstream};
use corepool_core::{Backend, Config, Connection, Connector, Handler, LocalPool, Outbound, WorkerInfo};
use corepool_testkit::Task;
use corepool_testkit::handlers::{Echo, Sleeper};
use corepool_testkit::sim::{Client, Config as World, Server, Simulated, random, run, seeds, spawn};
use corepool_testkit::tool::{Do, Tools, expect_conserved, tools};
use futures_util::FutureExt;
use futures_util::future::{Either, select};

/// A number below `bound` of this world's random source.
fn below(bound: u64) -> u64 {
    random() % bound
}

fn echo() -> Server {
    let config = Config::new().listen("127.0.0.1:0").workers(1).max_connections(64).backlog(64);
    Server::start(&config, |_worker| Echo).unwrap()
}

/// Drops a future after a while, unless it is ready before.
async fn with_patience<T>(most: Duration, future: impl Future<Output = T>) -> Option<T> {
    let patience = Simulated::sleep(most.mul_f64(below(1000) as f64 / 1000.0));
    match select(pin!(future), pin!(patience)).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

#[test]
fn whoever_gives_up_whenever_no_slot_is_lost_and_nobody_hangs() {
    seeds(0..300, World::seed, async |_seed| {
        let max = 1 + below(4) as usize;
        let (pool, worker, script) = tools::<Simulated>(max, |it| {
            it.min_idle(below(2) as usize).max_lifetime(Some(Duration::from_secs(3)))
        });
        let tasks: Vec<Task<()>> = (0..30).map(|_| spawn(user(pool.clone()))).collect();
        for _ in 0..20 {
            Simulated::sleep(Duration::from_millis(below(400))).await;
            worker.upkeep().sweep(Simulated::now());
            if below(8) == 0 {
                pool.resize(1 + below(max as u64) as usize);
            }
        }
        for task in tasks {
            task.join().await;
        }
        assert!(script.live_max.get() <= max, "{script:?}");
        script.create.set(Do::Well);
        script.check.set(Do::Well);
        drop(pool.get().await.unwrap());
        expect_conserved(&pool, 0);
        pool.close();
        pool.drained().await;
        assert_eq!(script.live.get(), 0);
    });
}

/// Uses a pool for a while, as it should be used and otherwise.
async fn user(pool: Tools) {
    for _ in 0..10 {
        let script = pool.source();
        match below(12) {
            0 => script.create.set([Do::Fail, Do::Panic][below(2) as usize]),
            1 => script.check.set([Do::Fail, Do::Panic][below(2) as usize]),
            2 => script.recycle.set(Do::Fail),
            _ => {}
        }
        let patience = Duration::from_millis(200);
        let using = with_patience(patience, async {
            let Ok(lease) = pool.get().await else { return };
            Simulated::sleep(Duration::from_millis(below(20))).await;
            match below(8) {
                0 => Lease::discard(lease),
                1 => panic!("of a user"),
                _ => drop(lease),
            }
        });
        let _panicked = std::panic::AssertUnwindSafe(using).catch_unwind().await;
    }
}

/// Relays requests of one byte over a pool, whose connections it leaves in any state.
struct Relay {
    pool: LocalPool<Outbound<Simulated>>,
    last: Rc<Cell<Option<PoolStats>>>,
}

impl Relay {
    fn new(worker: &WorkerInfo, to: SocketAddr, last: &Rc<Cell<Option<PoolStats>>>) -> Self {
        let builder = LocalPool::builder().max_size(2).min_idle(1).idle_timeout(Some(Duration::from_secs(1)));
        Self { pool: builder.build(worker, Upstream::new([to])).unwrap(), last: Rc::clone(last) }
    }
}

impl Handler<Simulated> for Relay {
    async fn serve(&self, mut client: Connection<Simulated>) -> io::Result<()> {
        while let Some(question) = client.recv().await? {
            for byte in question.iter().copied() {
                let mut lease = self.pool.get().await?;
                lease.send(vec![byte]).await?;
                if below(4) == 0 {
                    client.send(vec![byte]).await?; // it knows the answer, and does not wait for it
                    continue;
                }
                let answer = lease.recv().await?.ok_or(ErrorKind::UnexpectedEof)?;
                lease.settle();
                drop(lease);
                client.send(answer).await?;
            }
        }
        Ok(())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.last.set(Some(self.pool.stats()));
    }
}

#[test]
fn no_answer_comes_to_another_whatever_state_connections_are_left_in() {
    seeds(0..200, World::seed, async |_seed| {
        let upstream = echo();
        let last = Rc::default();
        let (to, noted) = (upstream.address(), Rc::clone(&last));
        let config = Config::new().listen("127.0.0.1:0").workers(1).max_connections(64).backlog(64);
        let relay = Server::start(&config, move |worker| Relay::new(worker, to, &noted)).unwrap();
        let clients: Vec<_> = (0..8).map(|_| spawn(client(relay.address()))).collect();
        for client in clients {
            client.join().await;
        }
        relay.handle().shutdown();
        relay.join().await;
        let stats = last.take().unwrap();
        assert_eq!((stats.size, stats.created), (0, stats.retired.total()), "{stats:?}");
        upstream.handle().shutdown();
        upstream.join().await;
    });
}

/// Asks for bytes of its own, and may leave in the middle.
async fn client(address: SocketAddr) {
    let client = Client::connect(address).await.unwrap();
    for _ in 0..1 + below(10) {
        let question = [random() as u8];
        client.write_all(&question).await.unwrap();
        if below(16) == 0 {
            return;
        }
        let mut answer = [0];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, question);
    }
}

#[test]
fn connecting_ends_in_time_or_is_given_up_and_leaves_nothing() {
    seeds(0..200, World::seed, async |_seed| {
        // A queue for one: whoever comes while it is full is not answered, and knocks again.
        let config = Config::new().listen("127.0.0.1:0").workers(1).max_connections(8).backlog(1);
        let full = Server::start(&config.clone(), |_worker| Sleeper).unwrap();
        let addresses = [full.address().into(), SocketAddr::from(([127, 0, 0, 1], 9)).into()];
        let connector = Connector::new().deadline(Duration::from_secs(3));
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let (connector, addresses) = (connector.clone(), addresses.clone());
                spawn(async move {
                    let begun = Simulated::now();
                    let connecting = connector.connect::<Simulated>(&addresses);
                    if let Some(Err(error)) = with_patience(Duration::from_secs(6), connecting).await {
                        assert!(Simulated::now() - begun <= Duration::from_secs(3));
                        assert_eq!(error.attempts.len(), 2);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.join().await;
        }
        all_closed().await;
        full.handle().abort();
        full.join().await;
    });
}

#[test]
fn nobody_listens_on_a_path_in_here() {
    run(&World::seed(0), async || {
        let error = Connector::new()
            .connect::<Simulated>(&[std::path::PathBuf::from("/x").into()])
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}
