//! The handler: what one worker has, and which of the two ways serves a client.

use std::any::Any;
use std::cell::OnceCell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use corepool::pool::InvalidPool;
use corepool::{Backend, Connection, Handler, WorkerInfo};
use tcp_proxy::Watchdog;

use crate::direct;
use crate::options::{Mode, Options};
use crate::shared::{self, Shared};
use crate::totals::{SharedTotals, Tally};
use crate::upstream::{self, Upstreams};

/// The handler of one worker.
pub struct RedisProxy {
    options: Rc<Options>,
    info: WorkerInfo,
    tally: Tally,
    totals: SharedTotals,
    /// The `Worker<B>` of the backend that runs: which one is not known before the first client, and then for good.
    worker: OnceCell<Rc<dyn Any>>,
}

/// What all clients of one core have in common.
pub(crate) struct Core<B: Backend> {
    pub(crate) options: Rc<Options>,
    pub(crate) upstreams: Upstreams<B>,
    pub(crate) watchdog: Watchdog,
    pub(crate) tally: Tally,
}

struct Worker<B: Backend> {
    core: Rc<Core<B>>,
    shared: Option<Shared<B>>,
}

impl RedisProxy {
    /// The handler of this worker. What it has counted is added to `totals` when it is dropped.
    #[must_use]
    pub fn new(options: &Options, info: &WorkerInfo, totals: &SharedTotals) -> Self {
        Self {
            options: Rc::new(options.clone()),
            info: info.clone(),
            tally: Tally::default(),
            totals: Arc::clone(totals),
            worker: OnceCell::new(),
        }
    }

    fn worker<B: Backend>(&self) -> io::Result<Rc<Worker<B>>> {
        if self.worker.get().is_none() {
            let started = Rc::new(self.start::<B>().map_err(io::Error::other)?);
            self.worker.get_or_init(|| started);
        }
        let any = self.worker.get().map(Rc::clone);
        any.and_then(|any| any.downcast().ok())
            .ok_or_else(|| io::Error::other("one handler serves on one backend"))
    }

    fn start<B: Backend>(&self) -> Result<Worker<B>, InvalidPool> {
        let options = Rc::clone(&self.options);
        let core = Rc::new(Core {
            upstreams: upstream::pool(&options, &self.info)?,
            watchdog: Watchdog::new(&self.info, options.stall_timeout),
            tally: self.tally.clone(),
            options,
        });
        let shared = (self.options.mode == Mode::Shared).then(|| Shared::start(&core));
        Ok(Worker { core, shared })
    }
}

impl<B: Backend> Handler<B> for RedisProxy {
    async fn serve(&self, client: Connection<B>) -> io::Result<()> {
        let worker = self.worker::<B>()?;
        match &worker.shared {
            None => direct::serve(client, &worker.core).await,
            Some(shared) => shared::serve(client, &worker.core, shared).await,
        }
    }
}

impl Drop for RedisProxy {
    fn drop(&mut self) {
        self.tally.add_to(&self.totals);
    }
}

impl fmt::Debug for RedisProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisProxy").field("options", &self.options).finish_non_exhaustive()
    }
}
