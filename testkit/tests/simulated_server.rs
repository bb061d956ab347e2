//! The real server (accept, admission, handoff, close, drain) in many simulated worlds.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use corepool_core::overflow::{Pause, Queue, Reject, ServeAnyway, Then};
use corepool_core::{Backend, Config, Connection, Handler, Placement};
use corepool_testkit::handlers::{Echo, Sleeper};
use corepool_testkit::sim::{Client, Config as World, Server, Simulated, random, run, seeds, spawn};
use futures_util::future::select;

/// A number below `bound` of this world's random source.
fn below(bound: u64) -> u64 {
    random() % bound
}

/// Any configuration of a small server.
fn any_config() -> Config {
    let placements =
        [Placement::LocalFirst, Placement::Even { slack: 1 }, Placement::RoundRobin, Placement::AlwaysOther];
    let config = Config::new()
        .listen("127.0.0.1:0")
        .workers(1 + below(4) as usize)
        .max_connections(8)
        .limit(1 + below(4) as u32)
        .placement(placements[below(4) as usize])
        .backlog(1 + below(16) as u32);
    let wait = Duration::from_millis(below(3000));
    match below(5) {
        0 => config.overflow(Reject::Close),
        1 => config.overflow(ServeAnyway),
        2 => config.overflow(Pause),
        3 => config.overflow(Queue::new(1 + below(8) as u32, wait).then(Then::ServeAnyway)),
        _ => config.overflow(Queue::new(1 + below(8) as u32, wait)),
    }
}

/// What a client has seen.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything came back, and the end after it.
    Served,
    /// The connection was over before a byte came back.
    Refused,
    /// Some of it came back.
    CutOff,
    /// Nobody listens.
    NotConnected,
}

/// Sends a random number of random bytes, and looks at what comes back.
async fn echo_client(address: SocketAddr) -> Outcome {
    let Ok(client) = Client::connect(address).await else { return Outcome::NotConnected };
    let client = Rc::new(client);
    let bytes: Rc<[u8]> = (0..1 + below(3000)).map(|_| random() as u8).collect();
    let writer = spawn({
        let (client, bytes) = (Rc::clone(&client), Rc::clone(&bytes));
        async move {
            client.write_all(&bytes).await?;
            client.finish()
        }
    });
    let (mut received, mut space) = (0, [0; 512]);
    let end = loop {
        match client.read(&mut space).await {
            Ok(0) => break Ok(()),
            Ok(count) => {
                assert_eq!(space[..count], bytes[received..received + count]);
                received += count;
            }
            Err(error) => break Err(error),
        }
    };
    let written = writer.join().await;
    match (end, written, received) {
        (Ok(()), Ok(()), all) if all == bytes.len() => Outcome::Served,
        (_, _, 0) => Outcome::Refused,
        _ => Outcome::CutOff,
    }
}

/// Connects, does something rude, and leaves.
async fn rude_client(address: SocketAddr) {
    let Ok(client) = Client::connect(address).await else { return };
    let bytes = vec![1; below(200) as usize];
    let patience = Simulated::sleep(Duration::from_millis(below(2000)));
    // It does not read, so that the server may not be able to take everything.
    select(pin!(client.write_all(&bytes)), pin!(patience)).await;
    match below(3) {
        0 => client.reset(),
        1 => drop(client.finish()),
        _ => {} // leaves without having read
    }
}

#[test]
fn every_client_is_served_or_refused_and_the_counters_agree() {
    seeds(0..300, World::seed, everybody_is_accounted_for);
}

#[test]
fn every_client_is_served_or_refused_when_workers_stall() {
    let stalling = |seed| World::seed(seed).stalls(Duration::from_millis(20));
    seeds(0..100, stalling, everybody_is_accounted_for);
}

/// Twelve clients, a server of any configuration, and what both say afterwards.
async fn everybody_is_accounted_for(_seed: u64) {
    let server = Server::start(&any_config(), |_worker| Echo).unwrap();
    let address = server.address();
    let clients: Vec<_> = (0..12).map(|_| spawn(echo_client(address))).collect();
    let (mut served, mut refused) = (0, 0);
    for client in clients {
        match client.join().await {
            Outcome::Served => served += 1,
            Outcome::Refused => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    server.handle().shutdown();
    let stats = server.join().await;
    assert_eq!(stats.total(|counts| counts.completed), served);
    assert_eq!(stats.total(|counts| counts.refused()), refused);
    assert_eq!(stats.total(|counts| counts.accepted), served + refused);
}

#[test]
fn a_seed_decides_the_history_of_a_server() {
    let history = |seed| {
        run(&World::seed(seed), async || {
            let begun = Simulated::now();
            let server = Server::start(&any_config(), |_worker| Echo).unwrap();
            let address = server.address();
            let rude: Vec<_> = (0..6).map(|_| spawn(rude_client(address))).collect();
            let polite: Vec<_> = (0..6).map(|_| spawn(echo_client(address))).collect();
            let mut outcomes = Vec::new();
            for client in polite {
                outcomes.push(client.join().await);
            }
            for client in rude {
                client.join().await;
            }
            server.handle().shutdown();
            let counts: Vec<_> =
                server.join().await.workers.into_iter().map(|worker| worker.counts).collect();
            (outcomes, counts, Simulated::now() - begun, random())
        })
    };
    for seed in 0..20 {
        assert_eq!(history(seed), history(seed));
    }
    assert_ne!(history(1), history(2));
}

#[test]
fn rude_clients_cost_nobody_else_anything() {
    seeds(0..300, World::seed, async |_seed| {
        let config = any_config().limit(8).overflow(Reject::Close).placement(Placement::RoundRobin);
        let server = Server::start(&config, |_worker| Echo).unwrap();
        let address = server.address();
        let rude: Vec<_> = (0..4).map(|_| spawn(rude_client(address))).collect();
        let polite: Vec<_> = (0..4).map(|_| spawn(echo_client(address))).collect();
        for client in polite {
            assert_eq!(client.join().await, Outcome::Served);
        }
        for client in rude {
            client.join().await;
        }
        server.handle().shutdown();
        server.join().await;
    });
}

#[test]
fn a_shutdown_at_any_moment_accounts_for_everybody() {
    seeds(0..300, World::seed, async |_seed| {
        let config = any_config().grace(Duration::from_secs(below(3)));
        let server = Server::start(&config, |_worker| Echo).unwrap();
        let address = server.address();
        let polite: Vec<_> = (0..8).map(|_| spawn(echo_client(address))).collect();
        let rude: Vec<_> = (0..4).map(|_| spawn(rude_client(address))).collect();
        Simulated::sleep(Duration::from_millis(below(20))).await;
        server.handle().shutdown();
        let stats = server.join().await;
        let mut served = 0;
        for client in polite {
            served += u64::from(client.join().await == Outcome::Served);
        }
        for client in rude {
            client.join().await;
        }
        assert!(stats.total(|counts| counts.completed) >= served);
    });
}

#[test]
fn a_handler_that_never_ends_is_aborted_when_the_grace_period_is_over() {
    seeds(0..50, World::seed, async |_seed| {
        let config = any_config().limit(8).grace(Duration::from_secs(5));
        let server = Server::start(&config, |_worker| Sleeper).unwrap();
        let address = server.address();
        let clients = [spawn(Client::connect(address)), spawn(Client::connect(address))];
        for client in clients {
            client.join().await.unwrap();
        }
        let begun = Simulated::now();
        server.handle().shutdown();
        let stats = server.join().await;
        assert_eq!(stats.total(|counts| counts.aborted), 2);
        let took = Simulated::now() - begun;
        assert!((Duration::from_secs(5)..Duration::from_secs(6)).contains(&took), "{took:?}");
    });
}

#[test]
fn a_connection_that_is_idle_gives_its_buffer_back_within_a_second() {
    seeds(0..50, World::seed, async |_seed| {
        let server = Server::start(&any_config().limit(8), |_worker| Echo).unwrap();
        let client = Client::connect(server.address()).await.unwrap();
        for _ in 0..3 {
            client.write_all(b"hello").await.unwrap();
            client.read_exact(&mut [0; 5]).await.unwrap();
            Simulated::sleep(Duration::from_millis(1000)).await;
            assert_eq!(Simulated::lent_buffers(), 0);
        }
        drop(client);
        server.handle().shutdown();
        server.join().await;
    });
}

/// Replies after the first byte, and leaves what else the client has sent unread.
struct Abrupt;

const REPLY: &[u8] = &[42; 5000];

impl<B: Backend> Handler<B> for Abrupt {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        connection.recv().await?;
        connection.send(REPLY).await
    }
}

#[test]
fn a_reply_before_a_close_always_arrives() {
    seeds(0..200, World::seed, async |_seed| {
        let server = Server::start(&any_config().limit(8), |_worker| Abrupt).unwrap();
        let client = Rc::new(Client::connect(server.address()).await.unwrap());
        let writer = spawn({
            let client = Rc::clone(&client);
            async move { client.write_all(&[1; 20_000]).await }
        });
        assert_eq!(client.read_to_end().await.unwrap(), REPLY);
        let _the_server_has_left = writer.join().await;
        drop(client);
        server.handle().shutdown();
        let stats = server.join().await;
        assert_eq!(stats.total(|counts| counts.completed), 1);
    });
}

/// Says something when its client has finished, or its server.
struct SumsUp;

impl<B: Backend> Handler<B> for SumsUp {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while connection.recv().await?.is_some() {}
        connection.send(REPLY).await
    }
}

#[test]
fn a_reply_arrives_during_a_shutdown_although_the_client_goes_on_sending() {
    // Wide enough for all that the client sends while nobody receives.
    let wide = |seed| World::seed(seed).capacity(64 << 10);
    seeds(0..200, wide, async |_seed| {
        let server = Server::start(&any_config().limit(8), |_worker| SumsUp).unwrap();
        let client = Client::connect(server.address()).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        Simulated::sleep(Duration::from_millis(below(3))).await;
        server.handle().shutdown();
        let (mut received, mut space) = (0, [0; 512]);
        while received < REPLY.len() {
            received += client.read(&mut space).await.unwrap();
            client.write_all(b"more").await.unwrap();
        }
        assert_eq!((client.read(&mut space).await.unwrap(), received), (0, REPLY.len()));
        drop(client);
        let stats = server.join().await;
        assert_eq!(stats.total(|counts| counts.completed), 1);
    });
}
