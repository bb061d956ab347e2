//! Admission in many simulated worlds: requests, deadlines, faults, policies that panic. The laws of the counters are
//! checked after every step.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corepool_core::handoff::{Handoff, NoHandoff, Reserved, Room, SharedQueue};
use corepool_core::limit::Adaptive;
use corepool_core::overflow::{Pause, Queue, Reject, ServeAnyway, Then};
use corepool_core::{Backend, Config, Connection, Deadlines, Handler, PerClient, Placement, Scope};
use corepool_testkit::handlers::Echo;
use corepool_testkit::sim::{Client, Config as World, Server, Simulated, random, seeds, spawn};
use futures_util::future::{Either, select};

/// A number below `bound` of this world's random source.
fn below(bound: u64) -> u64 {
    random() % bound
}

/// Any configuration of a small server.
fn any_config(scope: Scope) -> Config {
    let config = Config::new().listen("127.0.0.1:0").workers(1 + below(3) as usize).scope(scope);
    let config = match below(7) {
        0 => config.placement(Placement::Even { slack: 0 }),
        1 => config.placement(Placement::RoundRobin),
        2 => config.placement(Placement::AlwaysOther),
        3 => config.handoff(NoHandoff),
        4 => config.handoff(SharedQueue),
        _ => config.placement(Placement::LocalFirst),
    };
    let config = if below(4) == 0 {
        config.max_connections(16).admission(Adaptive::between(1, 4))
    } else {
        config.max_connections(16).limit(1 + below(3) as u32)
    };
    let wait = Duration::from_millis(below(4000));
    match below(5) {
        0 => config.overflow(Reject::Reply),
        1 => config.overflow(ServeAnyway),
        2 => config.overflow(Pause),
        3 => config.overflow(Queue::new(1 + below(8) as u32, wait).then(Then::ServeAnyway)),
        _ => config.overflow(Queue::new(1 + below(8) as u32, wait)),
    }
}

/// Holds a request for a while, sends it back, and counts how many are held at once.
#[derive(Clone, Default)]
struct Turns {
    held: Rc<Cell<u32>>,
}

impl<B: Backend> Handler<B> for Turns {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(_request) = connection.request().await? {
            self.held.set(self.held.get() + 1);
            let _given_back = GiveBack(Rc::clone(&self.held));
            let Some(chunk) = connection.recv().await? else { break };
            B::sleep(Duration::from_millis(below(20))).await;
            connection.send(chunk).await?;
        }
        Ok(())
    }
}

struct GiveBack(Rc<Cell<u32>>);

impl Drop for GiveBack {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Exchanges some messages, gives up after a while, and leaves in one way or another.
async fn client(address: SocketAddr) {
    Simulated::sleep(Duration::from_millis(below(200))).await;
    let Ok(client) = Client::connect(address).await else { return };
    for _ in 0..below(5) {
        let bytes = vec![7; 1 + below(300) as usize];
        let exchange = async {
            client.write_all(&bytes).await?;
            client.read_exact(&mut vec![0; bytes.len()]).await
        };
        let patience = Simulated::sleep(Duration::from_millis(1 + below(6000)));
        let done = match select(pin!(exchange), pin!(patience)).await {
            Either::Left((exchanged, _)) => exchanged.is_ok(),
            Either::Right(_) => false,
        };
        if !done {
            break;
        }
    }
    match below(3) {
        0 => client.reset(),
        1 => drop(client.finish()),
        _ => {}
    }
}

/// Many clients, a shutdown at some moment, and a server that must have forgotten everybody in the end.
async fn come_and_go<H: Handler<Simulated>>(config: Config, handler: impl Fn() -> H + 'static) {
    let server =
        Server::start(&config.grace(Duration::from_secs(below(3))), move |_worker| handler()).unwrap();
    let address = server.address();
    let clients: Vec<_> = (0..14).map(|_| spawn(client(address))).collect();
    if below(2) == 0 {
        Simulated::sleep(Duration::from_millis(below(3000))).await;
    } else {
        Simulated::sleep(Duration::from_secs(40)).await;
    }
    server.handle().shutdown();
    let stats = server.join().await;
    for client in clients {
        client.join().await;
    }
    for worker in &stats.workers {
        assert_eq!(
            (worker.waiting, worker.taken, worker.requests_taken, worker.requests_waiting),
            (0, 0, 0, 0)
        );
    }
}

#[test]
fn requests_take_turns_and_nobody_is_forgotten() {
    seeds(0..600, World::seed, async |_seed| {
        let config = any_config(Scope::Request);
        let turns = Turns::default();
        let held = Rc::clone(&turns.held);
        come_and_go(config, move || turns.clone()).await;
        assert_eq!(held.get(), 0);
    });
}

#[test]
fn connections_wait_in_any_policy_and_nobody_is_forgotten() {
    seeds(0..600, World::seed, async |_seed| come_and_go(any_config(Scope::Connection), || Echo).await);
}

#[test]
fn stalled_workers_forget_nobody() {
    let stalling = |seed| World::seed(seed).stalls(Duration::from_millis(30));
    seeds(0..200, stalling, async |_seed| come_and_go(any_config(Scope::Connection), || Echo).await);
    seeds(0..200, stalling, async |_seed| {
        let turns = Turns::default();
        come_and_go(any_config(Scope::Request), move || turns.clone()).await;
    });
}

#[test]
fn running_out_of_descriptors_now_and_then_forgets_nobody() {
    let faulty = |seed| World::seed(seed).faulty_accepts();
    seeds(0..300, faulty, async |_seed| come_and_go(any_config(Scope::Connection), || Echo).await);
}

#[test]
fn clients_that_take_too_long_are_cut_and_counted() {
    seeds(0..300, World::seed, async |_seed| {
        let limit = || Duration::from_millis(20 + below(2000));
        let deadlines = Deadlines::none().first_byte(limit()).idle(limit()).send(limit()).life(limit() * 4);
        let config = any_config(Scope::Connection).deadlines(deadlines).per_client(PerClient::new(9));
        come_and_go(config, || Echo).await;
    });
}

/// Places connections where they are, and panics now and then.
#[derive(Debug)]
struct Fickle {
    asked: AtomicUsize,
    panics_every: usize,
}

impl Handoff for Fickle {
    fn place<'a>(&self, me: usize, room: &Room<'a>, _random: &mut fastrand::Rng) -> Option<Reserved<'a>> {
        let reserved = room.reserve(me);
        if self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(self.panics_every) {
            std::panic::resume_unwind(Box::new("as was wished"));
        }
        reserved
    }
}

#[test]
fn a_worker_that_panics_forgets_nobody() {
    seeds(0..300, World::seed, async |_seed| {
        let fickle = Fickle { asked: AtomicUsize::new(0), panics_every: 2 + below(6) as usize };
        come_and_go(any_config(Scope::Connection).handoff(fickle), || Echo).await;
    });
}
