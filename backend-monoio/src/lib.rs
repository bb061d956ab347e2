//! corepool on monoio: completion by `io_uring`, one ring per worker, single-shot operations.
//!
//! * [`Monoio`]: the backend.
//! * `start`: a runtime whose driver is the ring, never monoio's epoll.
//! * `config`: the knobs of the ring.
//! * `conn`: a connection; what it does with what its two directions bring.
//! * `receive`: the receiving direction, and how a receive is withdrawn without losing a byte.
//! * `send`: the sending direction.
//! * `lane`: one operation at a time on one half of a socket, kept in flight when nobody polls.
//! * `bytes`: what an operation in flight reads from or writes into. This and `handle` have the `unsafe` code.
//! * `handle`: descriptors on their way into monoio and out again.
//! * `memory`: the buffers of a thread.
//! * `listener`: readiness of a listening socket; accepting is `accept4(2)`.
//! * `turns`: tasks take turns with each other, and with the kernel, whatever they do.
//!
//! What monoio 0.2.4 does that the code has to live with is said where it matters, and once here: a runtime
//! that is dropped leaks every task that waits for I/O, with its descriptors; and a panic in a task ends the
//! thread. So whoever calls [`Backend::run`] closes what it opened before `root` ends, and catches panics.

mod bytes;
mod config;
mod conn;
mod handle;
mod lane;
mod listener;
mod memory;
mod receive;
mod send;
mod start;
mod turns;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use corepool_core::backend::{Backend, Bind};
use corepool_core::cores::CoreId;
use corepool_core::error::Unavailable;
use corepool_os::{ListenSocket, StreamSocket, bind_group, pin};

pub use config::Config;
pub use conn::MonoioConn;
pub use listener::MonoioListener;

/// The monoio runtime, on `io_uring`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Monoio;

impl Backend for Monoio {
    const NAME: &'static str = "monoio";
    type Conn = MonoioConn;
    type Listener = MonoioListener;
    type Socket = StreamSocket;
    type Config = Config;

    fn bind(bind: &Bind) -> io::Result<(SocketAddr, Vec<ListenSocket>)> {
        bind_group(bind)
    }

    fn run<F: Future>(
        core: Option<CoreId>,
        config: &Config,
        root: impl FnOnce(&'static str) -> F,
    ) -> Result<F::Output, Unavailable> {
        core.map_or(Ok(()), pin).map_err(|error| {
            let advice = "Choose cores of this process's affinity mask";
            Unavailable::new(Self::NAME, error.to_string(), advice, error)
        })?;
        start::run(config, root)
    }

    fn spawn_local(future: impl Future<Output = ()> + 'static) {
        // The handle is dropped, and the task runs on.
        monoio::spawn(turns::InTurn::new(future));
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        monoio::time::sleep(duration)
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn lent_buffers() -> usize {
        memory::lent_buffers()
    }
}
