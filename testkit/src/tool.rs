//! A resource of a pool that does what a case tells it to.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use corepool_core::backend::Backend;
use corepool_core::pool::{AcquireError, Builder, Lease, Movable, Resource, Sharing};
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
    /// What it should, a turn later.
    Later,
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
    /// What packing one does, to send it to another core.
    pub pack: Cell<Do>,
    /// What unpacking one does.
    pub unpack: Cell<Do>,
    /// How many there are.
    pub live: Cell<usize>,
    /// The most that there were.
    pub live_max: Cell<usize>,
    /// How often one was made.
    pub made: Cell<usize>,
    /// All of several pools.
    pub census: Arc<Census>,
}

/// How many tools there are on all cores, and between them.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Census {
    /// How many there are.
    pub live: AtomicUsize,
    /// The most that there were.
    pub live_max: AtomicUsize,
}

/// The resource.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tool {
    /// The first is 1.
    pub number: usize,
    place: Place,
    counted: Counted,
}

/// What travels.
#[derive(Debug)]
pub struct PackedTool {
    number: usize,
    counted: Counted,
}

impl Resource for Tool {
    type Source = Rc<Script>;
    type Error = &'static str;

    async fn create(script: &Rc<Script>) -> Result<Self, &'static str> {
        if !act(&script.create).await {
            return Err("told to fail");
        }
        script.made.set(script.made.get() + 1);
        let counted = Counted::new(&script.census);
        Ok(Self { number: script.made.get(), place: Place::new(script), counted })
    }

    async fn check(&mut self) -> bool {
        act(&self.place.0.check).await
    }

    fn recycle(&mut self) -> bool {
        match self.place.0.recycle.take() {
            Do::Panic => panic!("told to panic"),
            told => told == Do::Well,
        }
    }
}

impl Movable for Tool {
    type Packed = PackedTool;

    async fn pack(self) -> Option<PackedTool> {
        if !act(&self.place.0.pack).await {
            return None;
        }
        Some(PackedTool { number: self.number, counted: self.counted })
    }

    fn unpack(packed: PackedTool, script: &Rc<Script>) -> Option<Self> {
        match script.unpack.take() {
            Do::Panic => panic!("told to panic"),
            Do::Well | Do::Later => {
                Some(Self { number: packed.number, place: Place::new(script), counted: packed.counted })
            }
            Do::Fail | Do::Hang => None,
        }
    }
}

/// Counts a tool among those of its pool.
#[derive(Debug)]
struct Place(Rc<Script>);

impl Place {
    fn new(script: &Rc<Script>) -> Self {
        script.live.set(script.live.get() + 1);
        script.live_max.set(script.live_max.get().max(script.live.get()));
        Self(Rc::clone(script))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.live.set(self.0.live.get() - 1);
    }
}

/// Counts a tool wherever it is.
#[derive(Debug)]
struct Counted(Arc<Census>);

impl Counted {
    fn new(census: &Arc<Census>) -> Self {
        let live = census.live.fetch_add(1, Ordering::SeqCst) + 1;
        census.live_max.fetch_max(live, Ordering::SeqCst);
        Self(Arc::clone(census))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn act(told: &Cell<Do>) -> bool {
    match told.take() {
        Do::Well => true,
        Do::Fail => false,
        Do::Panic => panic!("told to panic"),
        Do::Later => yield_once().await,
        Do::Hang => pending().await,
    }
}

async fn yield_once() -> bool {
    let mut is_later = false;
    poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut is_later, true) { Poll::Ready(true) } else { Poll::Pending }
    })
    .await
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

/// As [`tools`], for a pool that shares with others, and whose tools are counted together with theirs.
pub fn shared_tools<B: Backend>(
    max: usize,
    sharing: &Sharing<Tool>,
    census: &Arc<Census>,
    configure: impl FnOnce(Builder<Tool>) -> Builder<Tool>,
) -> (Tools, WorkerInfo, Rc<Script>) {
    let script = Rc::new(Script { census: Arc::clone(census), ..Script::default() });
    let worker = WorkerInfo::alone::<B>();
    let builder = LocalPool::builder().max_size(max).acquire_timeout(Duration::from_secs(1800));
    let pool = configure(builder.share(sharing)).build(&worker, Rc::clone(&script)).unwrap();
    (pool, worker, script)
}

/// Asserts that nothing of a pool is lost: whatever was made or came is idle, lent out or
/// counted as retired or given away.
#[track_caller]
pub fn expect_conserved(pool: &Tools, lent: usize) {
    let stats = pool.stats();
    assert_eq!((stats.size - stats.idle, stats.waiting), (lent, 0), "{stats:?}");
    let gone = stats.retired.total() + stats.given;
    assert_eq!(stats.created + stats.received, gone + stats.size as u64, "{stats:?}");
    assert_eq!(pool.source().live.get(), stats.size, "{stats:?}");
}
