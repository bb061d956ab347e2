//! A server that ends, in many simulated worlds: who had connected before is served, nobody else is let in, and it takes
//! no longer than it must.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use corepool_core::overflow::{Pause, Queue, Reject, ServeAnyway, Then};
use corepool_core::{Backend, Config, Placement, Stats};
use corepool_testkit::Task;
use corepool_testkit::handlers::{Echo, Sleeper};
use corepool_testkit::sim::{Client, Config as World, Server, Simulated, random, seeds, spawn};

const HOUR: Duration = Duration::from_secs(3600);

/// Fits into any connection, so that writing it never waits.
const HELLO: &[u8] = &[7; 40];

/// A number below `bound` of this world's random source.
fn below(bound: u64) -> u64 {
    random() % bound
}

/// A server with room for few, who may wait long, and for all in its accept queues.
fn config() -> Config {
    let placements = [Placement::LocalFirst, Placement::Even { slack: 0 }, Placement::AlwaysOther];
    let config = Config::new()
        .listen("127.0.0.1:0")
        .workers(1 + below(3) as usize)
        .limit(1 + below(3) as u32)
        .max_connections(64)
        .placement(placements[below(3) as usize])
        .backlog(32)
        .grace(HOUR / 2);
    match below(5) {
        0 => config.overflow(Reject::Close),
        1 => config.overflow(ServeAnyway),
        2 => config.overflow(Pause),
        3 => config.overflow(Queue::new(32, HOUR).then(Then::ServeAnyway)),
        _ => config.overflow(Queue::new(32, HOUR)),
    }
}

/// Clients that have connected and said hello, while no worker had a turn.
async fn arrive(address: SocketAddr, count: usize) -> Vec<Client> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let client = Client::connect(address).await.unwrap();
        client.write_all(HELLO).await.unwrap();
        clients.push(client);
    }
    clients
}

/// Clients that have connected, and stay until they are told to leave.
async fn arrive_and_stay(address: SocketAddr) -> Vec<Task<()>> {
    let stay = |client: Client| spawn(async move { drop(client.read_to_end().await) });
    arrive(address, 9).await.into_iter().map(stay).collect()
}

/// A server whose workers have come to rest, and wait for clients.
async fn at_rest(config: &Config) -> Server {
    let server = Server::start(config, |_worker| Sleeper).unwrap();
    Simulated::sleep(Duration::from_millis(1)).await;
    server
}

/// How long it takes the server to end, in virtual time.
async fn time_to_end(server: Server) -> Duration {
    let begun = Simulated::now();
    server.join().await;
    Simulated::now() - begun
}

/// Nine clients connect, and the server is told to end before any worker had a turn.
async fn everybody_is_served() -> Stats {
    let server = Server::start(&config(), |_worker| Echo).unwrap();
    let clients = arrive(server.address(), 9).await;
    server.handle().shutdown();
    for client in clients {
        assert_eq!(client.read_to_end().await.unwrap(), HELLO);
    }
    server.join().await
}

#[test]
fn whoever_had_connected_before_is_served_whatever_the_policy() {
    seeds(0..100, World::seed, async |_seed| {
        let stats = everybody_is_served().await;
        assert_eq!(stats.total(|counts| counts.completed), 9);
    });
}

#[test]
fn who_had_connected_is_served_although_descriptors_are_short_or_new_handshakes_cannot_be_kept_out() {
    let short = |seed| World::seed(seed).faulty_accepts();
    seeds(0..100, short, async |_seed| drop(everybody_is_served().await));
    let unfiltered = |seed| World::seed(seed).unfiltered();
    seeds(0..50, unfiltered, async |_seed| drop(everybody_is_served().await));
}

#[test]
fn nobody_gets_in_any_more() {
    seeds(0..100, World::seed, async |_seed| {
        let server = at_rest(&config().grace(Duration::from_secs(30))).await;
        let (address, first) = (server.address(), Client::connect(server.address()).await.unwrap());
        Simulated::sleep(Duration::from_millis(1)).await;
        server.handle().shutdown();
        Simulated::sleep(Duration::from_millis(1)).await;
        // No worker answers, and when their listeners are closed the address is nobody's.
        let error = Client::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        server.join().await;
        drop(first);
    });
}

#[test]
fn an_idle_server_ends_after_a_few_passes() {
    seeds(0..100, World::seed, async |_seed| {
        let server = at_rest(&config()).await;
        server.handle().shutdown();
        let took = time_to_end(server).await;
        assert!((Duration::from_millis(20)..=Duration::from_millis(40)).contains(&took), "{took:?}");
    });
    seeds(
        0..100,
        |seed| World::seed(seed).unfiltered(),
        async |_seed| {
            let server = at_rest(&config()).await;
            server.handle().shutdown();
            assert_eq!(time_to_end(server).await, Duration::from_millis(10));
        },
    );
}

#[test]
fn the_grace_period_begins_once_and_ends_what_is_left_and_who_waits() {
    seeds(0..100, World::seed, async |_seed| {
        let server = at_rest(&config().grace(Duration::from_secs(5))).await;
        let clients = arrive_and_stay(server.address()).await;
        server.handle().shutdown();
        Simulated::sleep(Duration::from_secs(3)).await;
        server.handle().shutdown();
        let took = time_to_end(server).await;
        assert!((Duration::from_secs(2)..Duration::from_secs(3)).contains(&took), "{took:?}");
        for client in clients {
            client.join().await;
        }
    });
}

#[test]
fn an_abort_waits_for_nobody() {
    seeds(0..100, World::seed, async |_seed| {
        let server = at_rest(&config()).await;
        let clients = arrive_and_stay(server.address()).await;
        if below(2) == 0 {
            Simulated::sleep(Duration::from_millis(below(5))).await;
        }
        if below(2) == 0 {
            server.handle().shutdown();
            Simulated::sleep(Duration::from_millis(below(30))).await;
        }
        server.handle().abort();
        let took = time_to_end(server).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
        for client in clients {
            client.join().await;
        }
    });
}
