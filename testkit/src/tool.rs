//! A resource of a pool that does what a case tells it to.

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use corepool_core::backend::Backend;
use corepool_core::pool::{AcquireError, Builder, Lease, Resource};
use corepool_core::{LocalPool, WorkerInfo};

/// What the next call of a method does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "told by cases")]
pub enum Do {
    /// What it should.
    #[default]
    Well,
    /// Says no.
    Fail,
    /// Panics.
    Panic,
    /// Waits for ever.
    Hang,
}

/// What all tools of a pool are told, and what they have noted.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Script {
    /// What making one does.
    pub create: Cell<Do>,
    /// What a check does.
    pub check: Cell<Do>,
    /// What recycling does.
    pub recycle: Cell<Do>,
    /// How many there are.
    pub live: Cell<usize>,
    /// The most that there were.
    pub live_max: Cell<usize>,
    /// How often one was made.
    pub made: Cell<usize>,
}

/// The resource.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The first is 1.
    pub number: usize,
    script: Rc<Script>,
}

impl Resource for Tool {
    type Source = Rc<Script>;
    type Error = &'static str;

    async fn create(script: &Rc<Script>) -> Result<Self, &'static str> {
        if !act(&script.create).await {
            return Err("told to fail");
        }
        let script = Rc::clone(script);
        script.made.set(script.made.get() + 1);
        script.live.set(script.live.get() + 1);
        script.live_max.set(script.live_max.get().max(script.live.get()));
        Ok(Self { number: script.made.get(), script })
    }

    async fn check(&mut self) -> bool {
        act(&self.script.check).await
    }

    fn recycle(&mut self) -> bool {
        match self.script.recycle.take() {
            Do::Panic => panic!("told to panic"),
            told => told == Do::Well,
        }
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        self.script.live.set(self.script.live.get() - 1);
    }
}

async fn act(told: &Cell<Do>) -> bool {
    match told.take() {
        Do::Well => true,
        Do::Fail => false,
        Do::Panic => panic!("told to panic"),
        Do::Hang => pending().await,
    }
}

/// A pool of tools.
pub type Tools = LocalPool<Tool>;
/// A tool that is lent out.
pub type Borrowed = Lease<Tool>;
/// What acquiring a tool comes to.
pub type Acquired = Result<Borrowed, AcquireError<&'static str>>;

/// A pool of so many tools, outside of a server: its worker, and its script.
pub fn tools<B: Backend>(
    max: usize,
    configure: impl FnOnce(Builder<Tool>) -> Builder<Tool>,
) -> (Tools, WorkerInfo, Rc<Script>) {
    let (worker, script) = (WorkerInfo::alone::<B>(), Rc::<Script>::default());
    let builder = configure(LocalPool::builder().max_size(max).acquire_timeout(Duration::from_secs(3600)));
    let pool = builder.build(&worker, Rc::clone(&script)).unwrap();
    (pool, worker, script)
}

/// Asserts that nothing of a pool is lost: whatever was made is idle, lent out or counted as retired.
#[track_caller]
pub fn expect_conserved(pool: &Tools, lent: usize) {
    let stats = pool.stats();
    assert_eq!((stats.size - stats.idle, stats.waiting), (lent, 0), "{stats:?}");
    assert_eq!(stats.created, stats.retired.total() + stats.size as u64, "{stats:?}");
    assert_eq!(pool.source().live.get(), stats.size, "{stats:?}");
}
