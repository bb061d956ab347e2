//! The world that a thread is in while it simulates.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use corepool_core::buffer::{BUFFER_SIZE, BufferPool};
use fastrand::Rng;

use super::Config;
use super::clock::Clock;
use super::executor::{Executor, Step};
use super::network::Network;

thread_local! {
    static WORLD: RefCell<Option<Rc<World>>> = const { RefCell::new(None) };
}

/// The capacities that a connection's directions may have, in bytes, unless the world has one for all.
const CAPACITIES: [usize; 4] = [64, 512, 4096, 64 * 1024];

/// All that is simulated.
pub(super) struct World {
    pub(super) config: Config,
    pub(super) random: RefCell<Rng>,
    pub(super) clock: Rc<Clock>,
    pub(super) executor: Executor,
    pub(super) network: Network,
    pub(super) pool: BufferPool,
    /// What must hold after every step; each panics when it does not.
    pub(super) invariants: RefCell<Vec<Box<dyn Fn()>>>,
}

impl World {
    /// This thread's world.
    ///
    /// # Panics
    /// When the thread is in none.
    pub(super) fn with<T>(act: impl FnOnce(&Self) -> T) -> T {
        Self::try_with(act).expect("this thread is in no simulated world")
    }

    /// This thread's world, if it is in one: sockets may outlive theirs.
    pub(super) fn try_with<T>(act: impl FnOnce(&Self) -> T) -> Option<T> {
        let world = WORLD.with_borrow(Clone::clone);
        world.map(|world| act(&world))
    }

    /// Waits until nothing can happen without time passing.
    pub(super) async fn settle() {
        poll_fn(|cx| {
            let idle = Self::with(|world| world.executor.is_idle());
            if idle {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// How much of `most` a read or a write does: at least one, where there is one.
    pub(super) fn share(most: usize) -> usize {
        Self::with(|world| {
            let mut random = world.random.borrow_mut();
            if world.config.short && most > 1 && random.bool() { random.usize(1..=most) } else { most }
        })
    }

    /// Whether what takes no time takes one more turn all the same, as a withdrawal does on `io_uring`.
    pub(super) fn hesitates(cx: &Context<'_>) -> bool {
        let hesitates = Self::one_in(4);
        if hesitates {
            cx.waker().wake_by_ref();
        }
        hesitates
    }

    /// Says yes once in so many times.
    pub(super) fn one_in(times: u8) -> bool {
        Self::with(|world| world.random.borrow_mut().u8(..times) == 0)
    }

    /// Whether there is no descriptor left for once.
    pub(super) fn lacks_descriptors() -> bool {
        Self::with(|world| world.config.faulty_accepts) && Self::one_in(4)
    }

    /// Whether a listener can keep new handshakes out.
    pub(super) fn filters() -> bool {
        Self::with(|world| world.config.filters)
    }

    /// The capacity of one direction of a new connection.
    pub(super) fn capacity(&self) -> usize {
        let mut random = self.random.borrow_mut();
        self.config.capacity.unwrap_or_else(|| CAPACITIES[random.usize(..CAPACITIES.len())])
    }

    fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            random: RefCell::new(Rng::with_seed(config.seed)),
            clock: Rc::default(),
            executor: Executor::default(),
            network: Network::default(),
            pool: BufferPool::new(BUFFER_SIZE, 64),
            invariants: RefCell::default(),
        }
    }

    /// Passes time, when nothing can run or when a step is stalled.
    fn pass_time(&self, idle: bool) {
        let mut random = self.random.borrow_mut();
        if idle {
            assert!(self.clock.advance_to_next(), "deadlock: nothing can run, and no timer is set");
        } else if !self.config.stall_max.is_zero() && random.u8(0..32) == 0 {
            let most = u64::try_from(self.config.stall_max.as_nanos()).unwrap_or(u64::MAX);
            self.clock.advance_by(Duration::from_nanos(random.u64(0..=most)));
        }
        assert!(self.clock.elapsed() <= self.config.time_max, "too much time has passed");
    }
}

/// Makes a world, and lives in it until the root future ends.
pub(super) fn live<F: Future>(config: &Config, root: impl FnOnce() -> F) -> F::Output {
    let world = Rc::new(World::new(config));
    let previous = WORLD.replace(Some(Rc::clone(&world)));
    assert!(previous.is_none(), "this thread is in a simulated world already");
    let _end = End { seed: config.seed };
    let mut root = pin!(root());
    for _ in 0..config.steps_max {
        let chosen = world.executor.choose(&mut world.random.borrow_mut());
        let idle = chosen.is_none();
        match chosen.map(|chosen| world.executor.step(chosen, root.as_mut())) {
            Some(Step::RootEnded(output)) => return output,
            Some(Step::Done) | None => world.pass_time(idle),
        }
        world.invariants.borrow().iter().for_each(|invariant| invariant());
    }
    panic!("too many steps: something spins");
}

/// The end of a world, by its root's end or by a panic.
struct End {
    seed: u64,
}

impl Drop for End {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the simulated world has failed; COREPOOL_SEED={} replays it", self.seed);
        }
        World::with(|world| world.executor.clear()); // still inside: dropped futures may ask for the world
        WORLD.set(None);
    }
}
