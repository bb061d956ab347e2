//! Three pools behind one trait, and the resource that they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corepool::backend::Tokio;
use corepool::pool::{AcquireError, Lease};
use corepool::{LocalPool, Resource, WorkerInfo};

/// What resources are told to do, and how many there were.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) fail_creations: AtomicUsize,
    pub(crate) panic_creations: AtomicUsize,
    pub(crate) fail_checks: AtomicUsize,
    pub(crate) made: AtomicUsize,
}

impl Script {
    /// Makes the next resource; the first is 1.
    fn make(&self) -> Result<usize, Broken> {
        assert!(!take(&self.panic_creations), "told to panic");
        if take(&self.fail_creations) {
            return Err(Broken);
        }
        Ok(self.made.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn check(&self) -> Result<(), Broken> {
        if take(&self.fail_checks) { Err(Broken) } else { Ok(()) }
    }
}

/// Takes one of a number, if there is one.
fn take(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// The only error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken;

/// Why nothing was acquired.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failure {
    TimedOut,
    Create,
    Other,
}

/// A pool under test.
pub(crate) trait Subject: Clone + 'static {
    type Lease: 'static;

    async fn new(max: usize, timeout: Duration, script: &Arc<Script>) -> Self;
    async fn get(&self) -> Result<Self::Lease, Failure>;
    fn number(lease: &Self::Lease) -> usize;
    /// Whether an acquire ends without being configured to.
    fn has_a_default_timeout() -> bool;
}

/// The resource of our pool.
pub(crate) struct Tool {
    number: usize,
    script: Arc<Script>,
}

impl Resource for Tool {
    type Source = Arc<Script>;
    type Error = Broken;

    async fn create(script: &Arc<Script>) -> Result<Self, Broken> {
        Ok(Self { number: script.make()?, script: Arc::clone(script) })
    }

    async fn check(&mut self) -> bool {
        self.script.check().is_ok()
    }
}

/// Ours.
pub(crate) type Ours = LocalPool<Tool>;

impl Subject for Ours {
    type Lease = Lease<Tool>;

    async fn new(max: usize, timeout: Duration, script: &Arc<Script>) -> Self {
        let builder = Self::builder().max_size(max).acquire_timeout(timeout);
        builder.build(&WorkerInfo::alone::<Tokio>(), Arc::clone(script)).expect("a pool")
    }

    async fn get(&self) -> Result<Lease<Tool>, Failure> {
        self.get().await.map_err(|error| match error {
            AcquireError::TimedOut { .. } => Failure::TimedOut,
            AcquireError::Create(Broken) => Failure::Create,
            _ => Failure::Other,
        })
    }

    fn number(lease: &Lease<Tool>) -> usize {
        lease.number
    }

    fn has_a_default_timeout() -> bool {
        format!("{:?}", Self::builder()).contains("acquire_timeout: 5s")
    }
}

/// How bb8 and deadpool make and check resources.
#[derive(Debug, Clone)]
pub(crate) struct Manager(Arc<Script>);

/// bb8.
pub(crate) type Bb8 = bb8::Pool<Manager>;

impl bb8::ManageConnection for Manager {
    type Connection = usize;
    type Error = Broken;

    async fn connect(&self) -> Result<usize, Broken> {
        self.0.make()
    }

    async fn is_valid(&self, _: &mut usize) -> Result<(), Broken> {
        self.0.check()
    }

    fn has_broken(&self, _: &mut usize) -> bool {
        false
    }
}

impl Subject for Bb8 {
    type Lease = bb8::PooledConnection<'static, Manager>;

    async fn new(max: usize, timeout: Duration, script: &Arc<Script>) -> Self {
        let max = u32::try_from(max).expect("a small size");
        let builder = Self::builder().max_size(max).connection_timeout(timeout);
        builder.build(Manager(Arc::clone(script))).await.expect("a pool")
    }

    async fn get(&self) -> Result<Self::Lease, Failure> {
        self.get_owned().await.map_err(|error| match error {
            bb8::RunError::TimedOut => Failure::TimedOut,
            bb8::RunError::User(Broken) => Failure::Create,
        })
    }

    fn number(lease: &Self::Lease) -> usize {
        **lease
    }

    fn has_a_default_timeout() -> bool {
        format!("{:?}", Self::builder()).contains("connection_timeout: 30s")
    }
}

/// deadpool.
pub(crate) type Deadpool = deadpool::managed::Pool<Manager>;

impl deadpool::managed::Manager for Manager {
    type Type = usize;
    type Error = Broken;

    async fn create(&self) -> Result<usize, Broken> {
        self.0.make()
    }

    async fn recycle(
        &self,
        _: &mut usize,
        _: &deadpool::managed::Metrics,
    ) -> deadpool::managed::RecycleResult<Broken> {
        self.0.check().map_err(deadpool::managed::RecycleError::Backend)
    }
}

impl Subject for Deadpool {
    type Lease = deadpool::managed::Object<Manager>;

    async fn new(max: usize, timeout: Duration, script: &Arc<Script>) -> Self {
        let builder =
            Self::builder(Manager(Arc::clone(script))).max_size(max).runtime(deadpool::Runtime::Tokio1);
        builder.wait_timeout(Some(timeout)).build().expect("a pool")
    }

    async fn get(&self) -> Result<Self::Lease, Failure> {
        self.get().await.map_err(|error| match error {
            deadpool::managed::PoolError::Timeout(_) => Failure::TimedOut,
            deadpool::managed::PoolError::Backend(Broken) => Failure::Create,
            _ => Failure::Other,
        })
    }

    fn number(lease: &Self::Lease) -> usize {
        **lease
    }

    fn has_a_default_timeout() -> bool {
        deadpool::managed::PoolConfig::default().timeouts.wait.is_some()
    }
}
