//! The mailbox of a worker that is awake, and of one that sleeps in its runtime's loop.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corepool::Backend;
use corepool_core::measure::{Mailbox, Way, way};
use rustix::time::{ClockId, clock_gettime};

use crate::estimate::Estimate;
use crate::{Cores, Scale};

/// As large as a socket with what is known of it.
type Cargo = [u8; 16];

/// Reserving a permit, a parcel in and out again, and the permit back, on one thread: nobody is woken.
pub(crate) fn mailbox(scale: Scale) -> Estimate {
    const TIMES: u32 = 1000;
    let (way, mailbox) = way();
    let sample = || {
        let begun = Instant::now();
        for _ in 0..TIMES {
            way.hand_over(Cargo::default());
            assert!(mailbox.try_receive().is_some());
        }
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES)
    };
    Estimate::of((0..scale.samples).map(|_| sample()).collect())
}

/// What a wake costs, in microseconds of CPU time.
#[derive(Debug)]
pub(crate) struct Wake {
    /// Sender and sleeper: until it has the parcel, and sleeps again.
    pub(crate) both: Estimate,
    /// The sender's part.
    pub(crate) sender: Estimate,
}

/// What the core of the sleeper does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Core {
    /// Nothing: it has to be woken, too. So a server that has little to do finds it.
    Idle,
    /// It runs another thread: a client, under load.
    Busy,
}

/// Long enough for a worker that has nothing to do to fall asleep. The sender stays awake, as one under load does.
const UNTIL_ASLEEP: Duration = Duration::from_micros(60);

/// Hands parcels, one at a time, to a worker that sleeps.
pub(crate) fn of_a_sleeper<B: Backend>(scale: Scale, cores: Cores, core: Core) -> Wake {
    let over = AtomicBool::new(core == Core::Idle);
    thread::scope(|threads| {
        threads.spawn(|| {
            core_affinity::set_for_current(core_affinity::CoreId { id: cores.other.0 });
            while !over.load(Ordering::Relaxed) {
                hint::spin_loop();
            }
        });
        let wake = of_a_sleeper_there::<B>(scale, cores);
        over.store(true, Ordering::Relaxed);
        wake
    })
}

fn of_a_sleeper_there<B: Backend>(scale: Scale, cores: Cores) -> Wake {
    let (way, mailbox) = way();
    let used = Arc::new(Used::default());
    let worker = {
        let used = Arc::clone(&used);
        thread::spawn(move || {
            let run = B::run(Some(cores.other), &B::Config::default(), |_driver| receive(mailbox, &used));
            run.expect("the backend runs");
        })
    };
    let sender = thread::spawn(move || {
        core_affinity::set_for_current(core_affinity::CoreId { id: cores.home.0 });
        (0..=scale.samples).map(|_| sample(&way, &used, scale.batch)).skip(1).unzip::<_, _, Vec<_>, Vec<_>>()
    });
    let (both, sender) = sender.join().expect("it has sent");
    worker.join().expect("it ends with its mailbox");
    Wake { both: Estimate::of(both), sender: Estimate::of(sender) }
}

/// What the worker tells of itself.
#[derive(Debug, Default)]
struct Used {
    cpu_ns: AtomicU64,
    received: AtomicU64,
}

async fn receive(mailbox: Mailbox<Cargo>, used: &Used) {
    while mailbox.receive().await.is_some() {
        used.cpu_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        used.received.fetch_add(1, Ordering::Release);
    }
}

/// What both and the sender alone pay for a wake.
fn sample(way: &Way<Cargo>, used: &Used, wakes: usize) -> (f64, f64) {
    let before = used.cpu_ns.load(Ordering::Relaxed);
    let clock_ns = clock_ns();
    let mut sender_ns = 0;
    for _ in 0..wakes {
        let asleep_at = Instant::now() + UNTIL_ASLEEP;
        while Instant::now() < asleep_at {
            hint::spin_loop();
        }
        let received = used.received.load(Ordering::Acquire);
        let begun = thread_cpu_ns();
        way.hand_over(Cargo::default());
        sender_ns += thread_cpu_ns() - begun;
        while used.received.load(Ordering::Acquire) == received {
            hint::spin_loop();
        }
    }
    let per_wake_us = |ns: u64| (ns as f64 / wakes as f64 - clock_ns) / 1e3;
    let sender = per_wake_us(sender_ns);
    // The first sample has no beginning, and is thrown away.
    let sleeper = per_wake_us(used.cpu_ns.load(Ordering::Relaxed) - before);
    (sender + sleeper, sender)
}

/// The CPU time of this thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}

/// What it costs to look at that clock.
fn clock_ns() -> f64 {
    const TIMES: u64 = 100;
    let begun = thread_cpu_ns();
    (1..TIMES).for_each(|_| _ = thread_cpu_ns());
    (thread_cpu_ns() - begun) as f64 / TIMES as f64
}
