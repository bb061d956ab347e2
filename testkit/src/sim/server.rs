//! A server in a simulated world: all its workers on one thread.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use corepool_core::{Assembly, Config, Handle, Handler, StartError, Stats, WorkerInfo, assemble, worker};

use super::{Simulated, spawn};
use crate::task::Task;

/// A server whose workers are tasks of this thread's world. The laws of its counters are checked after every
/// step.
#[derive(Debug)]
pub struct Server {
    handle: Handle,
    workers: Vec<Task<()>>,
}

impl Server {
    /// Starts a server in this thread's world.
    ///
    /// # Errors
    /// As [`corepool_core::start`].
    pub fn start<H: Handler<Simulated>>(
        config: &Config,
        factory: impl Fn(&WorkerInfo) -> H + 'static,
    ) -> Result<Self, StartError> {
        let Assembly { handle, contexts, .. } = assemble::<Simulated>(&config.clone().seed(super::random()))?;
        let observed = handle.clone();
        super::invariant(move || observed.check_laws().unwrap());
        let factory = Rc::new(factory);
        let workers = contexts.into_iter().map(|context| {
            let factory = Rc::clone(&factory);
            let started = |result: io::Result<_>| {
                result.expect("listeners in memory can be attached");
            };
            spawn(worker::<Simulated, H>(context, "simulated", move |info| factory(info), started))
        });
        Ok(Self { workers: workers.collect(), handle })
    }

    /// The remote control.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The first address that it listens on.
    ///
    /// # Panics
    /// When it listens on none.
    pub fn address(&self) -> SocketAddr {
        self.handle.addresses()[0]
    }

    /// Waits until every worker has ended, which somebody must ask for.
    ///
    /// # Panics
    /// When a worker has panicked, or something is still open.
    pub async fn join(self) -> Stats {
        for worker in self.workers {
            worker.join().await;
        }
        let stats = self.handle.stats();
        assert_eq!(stats.active(), 0);
        stats
    }
}
