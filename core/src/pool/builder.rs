//! What a user says about a pool, and what is made of it for one worker.

use std::fmt;
use std::time::Duration;

use super::error::InvalidPool;
use super::hooks::Hooks;
use super::sharing::{Joining, Sharing};
use super::stats::Retired;
use super::{LocalPool, Movable, Resource};
use crate::handler::WorkerInfo;

/// The most resources that one core may be given: beyond it, a mistake is more likely than a wish.
const SIZE_MAX: usize = 1 << 20;

/// A pool that is being configured. The same builder, on every worker, gives each its own pool.
pub struct Builder<R: Resource> {
    pub(crate) max_size: usize,
    pub(crate) max_total: Option<usize>,
    pub(crate) min_idle: usize,
    pub(crate) max_waiting: usize,
    pub(crate) acquire_timeout: Duration,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) max_lifetime: Option<Duration>,
    pub(crate) lifetime_jitter: f64,
    pub(crate) oldest_first: bool,
    pub(crate) hooks: Hooks<R>,
    pub(crate) joining: Option<Joining<R>>,
}

impl<R: Resource> Default for Builder<R> {
    fn default() -> Self {
        Self {
            max_size: 16,
            max_total: None,
            min_idle: 0,
            max_waiting: 100_000,
            acquire_timeout: Duration::from_secs(5),
            idle_timeout: Some(Duration::from_secs(10 * 60)),
            max_lifetime: Some(Duration::from_secs(30 * 60)),
            lifetime_jitter: 0.1,
            oldest_first: false,
            hooks: Hooks::default(),
            joining: None,
        }
    }
}

impl<R: Resource> Builder<R> {
    /// The most resources that the pool of one worker holds, lent out or idle. Default: 16.
    #[must_use]
    pub fn max_size(mut self, resources: usize) -> Self {
        self.max_size = resources;
        self
    }

    /// The most resources that the pools of all workers hold together: each worker gets its part, and
    /// [`max_size`](Self::max_size) if that is less. For what is scarce elsewhere, like a database's connections, of
    /// which a machine with many cores must not take them all. Default: no such limit.
    #[must_use]
    pub fn max_total(mut self, resources: usize) -> Self {
        self.max_total = Some(resources);
        self
    }

    /// How many idle resources the pool keeps ready. It makes them by itself, one after the other, from the start, and
    /// again within a sweep (400 ms) when some are gone. Default: 0.
    #[must_use]
    pub fn min_idle(mut self, resources: usize) -> Self {
        self.min_idle = resources;
        self
    }

    /// How many acquires may wait at a time; the next one fails at once. Default: 100,000, a bound on memory and no more.
    #[must_use]
    pub fn max_waiting(mut self, acquires: usize) -> Self {
        self.max_waiting = acquires;
        self
    }

    /// How long an acquire may take: to wait, to make one and to check it, all together. Default: 5 s.
    #[must_use]
    pub fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout = timeout;
        self
    }

    /// How long a resource may be idle before the pool drops it; [`min_idle`](Self::min_idle) of them are kept. `None`:
    /// for ever. Default: 10 min.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// How old a resource may become. One that is lent out is dropped when it comes back. `None`: for ever. Default:
    /// 30 min.
    #[must_use]
    pub fn max_lifetime(mut self, lifetime: Option<Duration>) -> Self {
        self.max_lifetime = lifetime;
        self
    }

    /// By how much of the lifetime, at random and at the most, a resource is dropped earlier, so that those that were
    /// made together are not all made again together. From 0 to 1. Default: 0.1.
    #[must_use]
    pub fn lifetime_jitter(mut self, part: f64) -> Self {
        self.lifetime_jitter = part;
        self
    }

    /// Whether the resource that has been idle longest is lent out first. Default: no, the one that came back last is:
    /// its memory is warm, and those that are not needed become old enough to be dropped.
    #[must_use]
    pub fn oldest_first(mut self, yes: bool) -> Self {
        self.oldest_first = yes;
        self
    }

    /// Lets the pools of all cores that are given the same `sharing` help each other out: when acquires wait here, and the
    /// pool of another core has an idle resource or a free slot, that is borrowed, and given back as soon as nobody waits
    /// here or the lender needs it. All together they never hold more than the sum of their sizes, but one of them may.
    /// All must be built with the same source. Default: a pool keeps to itself.
    ///
    /// For few clients with much to do that are spread unevenly. Not for `try_get`, which never waits.
    #[must_use]
    pub fn share(mut self, sharing: &Sharing<R>) -> Self
    where
        R: Movable,
    {
        self.joining = Some(Joining::new(sharing));
        self
    }

    /// Calls `hook` with every resource that was made.
    #[must_use]
    pub fn on_create(mut self, hook: impl Fn(&mut R) + 'static) -> Self {
        self.hooks.create = Some(Box::new(hook));
        self
    }

    /// Calls `hook` with every resource that is lent out, after its check.
    #[must_use]
    pub fn on_acquire(mut self, hook: impl Fn(&mut R) + 'static) -> Self {
        self.hooks.acquire = Some(Box::new(hook));
        self
    }

    /// Calls `hook` with every resource that comes back and will be used again.
    #[must_use]
    pub fn on_release(mut self, hook: impl Fn(&mut R) + 'static) -> Self {
        self.hooks.release = Some(Box::new(hook));
        self
    }

    /// Calls `hook` with every resource that leaves the pool, before it is dropped or taken away, and why. Not with those
    /// that are on their way to another core, nor those lost on it ([`Retired::Moving`]).
    #[must_use]
    pub fn on_retire(mut self, hook: impl Fn(&mut R, Retired) + 'static) -> Self {
        self.hooks.retire = Some(Box::new(hook));
        self
    }

    /// Makes the pool of one worker. Call it where the worker's handler is made. It begins to make
    /// [`min_idle`](Self::min_idle) resources.
    ///
    /// # Errors
    /// A value is out of range; the error names it.
    ///
    /// # Panics
    /// Outside of the worker's runtime, when something is to be made or [shared](Self::share).
    pub fn build(self, worker: &WorkerInfo, source: R::Source) -> Result<LocalPool<R>, InvalidPool> {
        let max = self.size_for(worker)?;
        self.check(max)?;
        Ok(LocalPool::new(self, max, worker, source))
    }

    /// The size of this worker's pool.
    fn size_for(&self, worker: &WorkerInfo) -> Result<usize, InvalidPool> {
        within("max_size", self.max_size, 1, SIZE_MAX)?;
        let Some(total) = self.max_total else { return Ok(self.max_size) };
        if total < worker.workers {
            let allowed = format!("at least 1 for each of the {} workers", worker.workers);
            return Err(InvalidPool::new("max_total", total, allowed));
        }
        let part = total / worker.workers + usize::from(worker.index < total % worker.workers);
        Ok(part.min(self.max_size))
    }

    fn check(&self, max: usize) -> Result<(), InvalidPool> {
        within("min_idle", self.min_idle, 0, max)?;
        within("max_waiting", self.max_waiting, 0, usize::MAX)?;
        let times = [
            ("acquire_timeout", Some(self.acquire_timeout)),
            ("idle_timeout", self.idle_timeout),
            ("max_lifetime", self.max_lifetime),
        ];
        for (field, time) in times {
            if time == Some(Duration::ZERO) {
                return Err(InvalidPool::new(field, "0", "longer than 0"));
            }
        }
        if !(0.0..=1.0).contains(&self.lifetime_jitter) {
            return Err(InvalidPool::new("lifetime_jitter", self.lifetime_jitter, "from 0 to 1"));
        }
        Ok(())
    }
}

fn within(field: &'static str, value: usize, least: usize, most: usize) -> Result<(), InvalidPool> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(InvalidPool::new(field, value, format!("from {least} to {most}")))
}

impl<R: Resource> fmt::Debug for Builder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("max_size", &self.max_size)
            .field("max_total", &self.max_total)
            .field("min_idle", &self.min_idle)
            .field("max_waiting", &self.max_waiting)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_lifetime", &self.max_lifetime)
            .field("lifetime_jitter", &self.lifetime_jitter)
            .field("oldest_first", &self.oldest_first)
            .field("shares", &self.joining.is_some())
            .finish_non_exhaustive()
    }
}
