//! A simulated backend: a network in memory, virtual time, and an order of events that a seed decides.
//!
//! * [`Simulated`]: the backend. Its `run` makes a world, and the root future is what happens in it; workers are
//!   futures that the root spawns. Everything is on one thread, and the same seed gives the same history.
//! * [`Server`]: a server with all its workers in the world. [`Client`]: what connects to it.
//! * [`run`], [`seeds`]: a scenario in one world, and in many. A world that fails prints its seed, and
//!   `COREPOOL_SEED` replays it.
//!
//! Inside: `world` is what a thread is in while it simulates; `executor`, `clock` and `network` are its parts,
//! `link` is one connection. Receives hold a buffer while they wait, and a detach brings bytes along, as on
//! `io_uring`.

mod client;
mod clock;
mod conn;
mod executor;
mod link;
mod listener;
mod network;
mod server;
mod world;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use corepool_core::backend::{Backend, Bind};
use corepool_core::cores::CoreId;
use corepool_core::error::Unavailable;

use crate::task::{self, Task};
use world::World;

pub use client::Client;
pub use conn::SimulatedConn;
pub use link::SimulatedSocket;
pub use listener::{SimulatedBound, SimulatedListener};
pub use server::Server;

/// The simulated backend.
#[derive(Debug)]
#[non_exhaustive]
pub struct Simulated;

/// What a world is like.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Decides the order of events, the size of reads and writes, and what a reset destroys. Default: 0.
    pub seed: u64,
    /// Whether reads and writes may do less than they could. Default: they may.
    pub short: bool,
    /// How many bytes each direction of a connection holds. Default: `None`, a seeded choice for each.
    pub capacity: Option<usize>,
    /// How much time a step may take, at the most, as if a worker were stalled. Default: none at all; time
    /// passes only when nothing can run.
    pub stall_max: Duration,
    /// Whether an accept may fail, now and then, as if there were no descriptor left. Default: none does.
    pub faulty_accepts: bool,
    /// Whether listeners can keep new handshakes out, as Linux can by a filter. Default: they can.
    pub filters: bool,
    /// A history longer than this, in virtual time, goes nowhere. Default: an hour.
    pub time_max: Duration,
    /// A history of more steps than this goes nowhere. Default: twenty million.
    pub steps_max: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            short: true,
            capacity: None,
            stall_max: Duration::ZERO,
            faulty_accepts: false,
            filters: true,
            time_max: Duration::from_secs(3600),
            steps_max: 20_000_000,
        }
    }
}

impl Config {
    /// A world with a seed.
    pub fn seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The same world, in which each direction of a connection holds so many bytes.
    #[must_use]
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = Some(bytes);
        self
    }

    /// The same world, in which an accept may fail now and then.
    #[must_use]
    pub fn faulty_accepts(mut self) -> Self {
        self.faulty_accepts = true;
        self
    }

    /// The same world, in which no listener can keep new handshakes out.
    #[must_use]
    pub fn unfiltered(mut self) -> Self {
        self.filters = false;
        self
    }

    /// The same world, in which steps are stalled for as long as `most`.
    #[must_use]
    pub fn stalls(mut self, most: Duration) -> Self {
        self.stall_max = most;
        self
    }
}

impl Backend for Simulated {
    const NAME: &'static str = "simulated";
    type Conn = SimulatedConn;
    type Listener = SimulatedListener;
    type Socket = SimulatedSocket;
    type Config = Config;

    fn bind(bind: &Bind) -> io::Result<(SocketAddr, Vec<SimulatedBound>)> {
        World::with(|world| world.network.bind(bind))
    }

    /// Makes a world and lives in it until the root future ends. There are no cores in it.
    ///
    /// # Panics
    /// When nothing can happen any more, or too much has happened; and when this thread is in a world already.
    fn run<F: Future>(
        _core: Option<CoreId>,
        config: &Config,
        root: impl FnOnce(&'static str) -> F,
    ) -> Result<F::Output, Unavailable> {
        Ok(world::live(config, || root("simulated")))
    }

    fn spawn_local(future: impl Future<Output = ()> + 'static) {
        World::with(|world| world.executor.spawn(future));
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        World::with(|world| world.clock.sleep(duration))
    }

    fn now() -> Instant {
        World::with(|world| world.clock.now())
    }

    fn lent_buffers() -> usize {
        World::with(|world| world.pool.lent())
    }
}

/// Lives through a scenario in the world of `config`, and asserts that nothing is left of it: no task and no
/// lent buffer.
///
/// # Panics
/// When the scenario does, or something is left. The seed is printed.
pub fn run<F: Future>(config: &Config, scenario: impl FnOnce() -> F) -> F::Output {
    let output = Simulated::run(None, config, |_driver| async {
        let output = scenario().await;
        World::settle().await;
        assert_eq!(World::with(|world| world.executor.tasks()), 0, "tasks are left behind");
        assert_eq!(Simulated::lent_buffers(), 0, "lent buffers are left behind");
        output
    });
    output.expect("a world always starts")
}

/// Lives through a scenario once for each seed, in the world that `config` makes of it; or once in all, with the
/// seed in `COREPOOL_SEED`.
///
/// # Panics
/// As [`run`].
pub fn seeds<F: Future<Output = ()>>(
    seeds: Range<u64>,
    config: impl Fn(u64) -> Config,
    mut scenario: impl FnMut(u64) -> F,
) {
    let replayed =
        env::var("COREPOOL_SEED").ok().map(|seed| seed.parse().expect("COREPOOL_SEED is a number"));
    let seeds = replayed.map_or(seeds, |seed: u64| seed..seed + 1);
    for seed in seeds {
        run(&config(seed), || scenario(seed));
    }
}

/// Calls `check` after every step in this thread's world. It panics when something does not hold.
pub fn invariant(check: impl Fn() + 'static) {
    World::with(|world| world.invariants.borrow_mut().push(Box::new(check)));
}

/// Spawns a task in this thread's world.
pub fn spawn<T: 'static>(future: impl Future<Output = T> + 'static) -> Task<T> {
    task::spawn::<Simulated, T>(future)
}

/// A random number of this thread's world.
pub fn random() -> u64 {
    World::with(|world| world.random.borrow_mut().u64(..))
}
