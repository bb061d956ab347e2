//! What a policy promises to one client after another, in simulated worlds: who is served, who waits and for how long,
//! who is turned away, and how that is counted.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::Cell;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corepool_core::handoff::{Handoff, Reserved, Room};
use corepool_core::limit::Adaptive;
use corepool_core::overflow::{Pause, Queue, Reject, ServeAnyway, Then};
use corepool_core::{Backend, Config, PerClient, Scope, Stats};
use corepool_testkit::handlers::{Echo, Sleeper};
use corepool_testkit::sim::{Client, Config as World, Server, Simulated, run, seeds};

const HOUR: Duration = Duration::from_secs(3600);

/// Fits into any connection, so that writing it never waits.
const HELLO: &[u8] = &[7; 40];

/// A worker with room for one.
fn config() -> Config {
    Config::new().listen("127.0.0.1:0").workers(1).limit(1).max_connections(64)
}

/// Lives through a scenario in twenty worlds, each with a server of its own.
fn with_server(config: &Config, scenario: impl AsyncFn(&Server)) {
    seeds(0..20, World::seed, async |_seed| {
        let server = Server::start(config, |_worker| Echo).unwrap();
        scenario(&server).await;
        server.handle().shutdown();
        server.join().await;
    });
}

/// Lets everything happen that takes no time.
async fn a_moment() {
    Simulated::sleep(Duration::from_millis(1)).await;
}

/// A client that has connected and said hello.
async fn hello(server: &Server) -> Client {
    let client = Client::connect(server.address()).await.unwrap();
    client.write_all(HELLO).await.unwrap();
    client
}

/// Reads the answer to a hello.
async fn answered(client: Client) -> Client {
    client.read_exact(&mut [0; HELLO.len()]).await.unwrap();
    client
}

async fn served(server: &Server) -> Client {
    answered(hello(server).await).await
}

/// A client that waits for a permit.
async fn waiting(server: &Server) -> Client {
    let before = stats(server).waiting();
    let client = hello(server).await;
    a_moment().await;
    assert_eq!(stats(server).waiting(), before + 1);
    client
}

/// Ends a connection, and lets others have its permit.
async fn leave(client: Client) {
    drop(client);
    a_moment().await;
}

async fn expect_no_answer(client: Client) {
    assert!(!matches!(client.read(&mut [0; HELLO.len()]).await, Ok(1..)));
}

async fn turned_away(server: &Server) {
    expect_no_answer(hello(server).await).await;
}

fn stats(server: &Server) -> Stats {
    server.handle().stats()
}

#[test]
fn one_client_gets_no_more_than_its_part() {
    with_server(&config().limit(9).per_client(PerClient::new(2)), async |server| {
        let (first, second) = (served(server).await, served(server).await);
        turned_away(server).await;
        assert_eq!(stats(server).total(|counts| counts.refused_per_client), 1);
        leave(first).await;
        served(server).await;
        leave(second).await;
    });
}

#[test]
fn a_worker_has_no_more_sockets_than_it_may_whoever_waits() {
    with_server(&config().max_connections(2).overflow(Queue::new(8, HOUR)), async |server| {
        let first = served(server).await;
        let second = waiting(server).await;
        turned_away(server).await;
        assert_eq!(stats(server).total(|counts| counts.refused_max_connections), 1);
        leave(first).await;
        answered(second).await;
    });
    with_server(&config().max_connections(2).overflow(ServeAnyway), async |server| {
        let _open = (served(server).await, served(server).await);
        assert_eq!(stats(server).total(|counts| counts.over_limit), 1);
        turned_away(server).await;
        assert_eq!(stats(server).total(|counts| counts.refused_max_connections), 1);
    });
}

#[test]
fn where_requests_take_the_permits_connections_are_bounded_by_sockets_alone() {
    seeds(0..20, World::seed, async |_seed| {
        let config = config().scope(Scope::Request).max_connections(2).overflow(Queue::new(8, HOUR));
        let server = Server::start(&config, |_worker| Sleeper).unwrap();
        let _open = (hello(&server).await, hello(&server).await);
        a_moment().await;
        assert_eq!(stats(&server).active(), 2);
        turned_away(&server).await;
        assert_eq!(stats(&server).total(|counts| counts.refused_max_connections), 1);
        server.handle().abort();
        server.join().await;
    });
}

#[test]
fn a_full_queue_turns_away_or_serves_at_once() {
    let queue = Queue::new(1, HOUR);
    with_server(&config().overflow(queue), async |server| {
        let first = served(server).await;
        let second = waiting(server).await;
        turned_away(server).await;
        assert_eq!(stats(server).total(|counts| counts.refused_full), 1);
        leave(first).await;
        answered(second).await;
    });
    with_server(&config().overflow(queue.then(Then::ServeAnyway)), async |server| {
        let first = served(server).await;
        let second = waiting(server).await;
        let third = served(server).await;
        assert_eq!(stats(server).total(|counts| counts.over_limit), 1);
        drop((first, third));
        a_moment().await;
        answered(second).await;
    });
}

#[test]
fn who_waits_is_served_until_the_deadline_and_turned_away_at_it() {
    let second = Duration::from_secs(1);
    for reject in [Reject::Close, Reject::Reset, Reject::Reply] {
        with_server(&config().overflow(Queue::new(8, second).then(Then::Reject(reject))), async |server| {
            let first = served(server).await;
            let in_time = waiting(server).await;
            Simulated::sleep(second * 9 / 10).await;
            leave(first).await;
            let in_time = answered(in_time).await;
            let begun = Simulated::now();
            turned_away(server).await;
            assert_eq!(Simulated::now() - begun, second);
            assert_eq!(stats(server).total(|counts| counts.expired), 1);
            leave(in_time).await;
        });
    }
}

#[test]
fn a_full_server_that_is_told_to_turn_away_does_so_at_once() {
    with_server(&config().overflow(Reject::Reply), async |server| {
        let first = served(server).await;
        let begun = Simulated::now();
        turned_away(server).await;
        assert_eq!((Simulated::now(), stats(server).total(|counts| counts.refused_full)), (begun, 1));
        leave(first).await;
        served(server).await;
    });
}

#[test]
fn a_server_that_pauses_accepts_nobody_while_one_waits() {
    with_server(&config().overflow(Pause), async |server| {
        let first = served(server).await;
        let second = waiting(server).await;
        let third = hello(server).await;
        a_moment().await;
        assert_eq!(stats(server).total(|counts| counts.accepted), 2);
        leave(first).await;
        leave(answered(second).await).await;
        answered(third).await;
    });
}

#[test]
fn a_limit_that_finds_itself_rises_when_it_was_reached() {
    with_server(&config().admission(Adaptive::between(1, 4)), async |server| {
        leave(served(server).await).await;
        let _open = served(server).await;
        assert_eq!(stats(server).workers[0].limit, 1);
        Simulated::sleep(Duration::from_millis(500)).await;
        assert_eq!(stats(server).workers[0].limit, 2);
        served(server).await;
    });
}

#[test]
#[should_panic(expected = "deadlock: nothing can run, and no timer is set")]
fn a_server_at_rest_sets_no_timer() {
    run(&World::seed(1), async || {
        let server = Server::start(&config(), |_worker| Echo).unwrap();
        leave(served(&server).await).await;
        pending::<()>().await;
    });
}

#[test]
fn an_accept_that_fails_is_counted_and_tried_again() {
    let failures = Cell::new(0);
    let faulty = |seed| World::seed(seed).faulty_accepts();
    seeds(0..20, faulty, async |_seed| {
        let server = Server::start(&config().limit(9), |_worker| Echo).unwrap();
        for _ in 0..9 {
            drop(hello(&server).await);
            Simulated::sleep(Duration::from_secs(1)).await;
        }
        let served = stats(&server);
        assert_eq!(served.total(|counts| counts.accepted), 9);
        failures.set(failures.get() + served.total(|counts| counts.accept_errors));
        server.handle().shutdown();
        server.join().await;
    });
    assert_ne!(failures.get(), 0);
}

/// Places every connection where it is, and panics over every second one.
#[derive(Debug, Default)]
struct Fickle {
    asked: AtomicUsize,
}

impl Handoff for Fickle {
    fn place<'a>(&self, me: usize, room: &Room<'a>, _random: &mut fastrand::Rng) -> Option<Reserved<'a>> {
        if self.asked.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
            std::panic::resume_unwind(Box::new("as was wished"));
        }
        room.reserve(me)
    }
}

#[test]
fn a_policy_that_panics_loses_one_connection_which_is_counted_and_no_permit() {
    seeds(0..20, World::seed, async |_seed| {
        let server = Server::start(&config().handoff(Fickle::default()), |_worker| Echo).unwrap();
        for _ in 0..3 {
            leave(served(&server).await).await;
            turned_away(&server).await;
        }
        server.handle().shutdown();
        let stats = server.join().await;
        let counts = |count: fn(&corepool_core::Counts) -> u64| stats.total(count);
        assert_eq!([counts(|it| it.refused_panicked), counts(|it| it.restarts)], [3, 3]);
        assert_eq!(counts(|it| it.completed) + counts(|it| it.failed), 3);
    });
}
