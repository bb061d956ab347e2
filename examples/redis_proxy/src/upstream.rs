//! The pool of upstream connections of one core.

use corepool::pool::{self, InvalidPool, Upstream};
use corepool::{Backend, Connector, LocalPool, Outbound, WorkerInfo};

use crate::options::Options;

/// The pool.
pub(crate) type Upstreams<B> = LocalPool<Outbound<B>>;

/// A connection of it.
pub(crate) type Lease<B> = pool::Lease<Outbound<B>>;

/// Makes the pool of this worker.
///
/// # Errors
/// A number in the options is out of range; the error names it.
pub(crate) fn pool<B: Backend>(options: &Options, worker: &WorkerInfo) -> Result<Upstreams<B>, InvalidPool> {
    let connector = Connector::new().deadline(options.acquire_timeout);
    LocalPool::builder()
        .max_size(options.connections)
        .acquire_timeout(options.acquire_timeout)
        .idle_timeout(Some(options.idle_timeout))
        .build(worker, Upstream::new(options.upstream.iter().cloned()).connector(connector))
}
