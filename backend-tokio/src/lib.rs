//! corepool on tokio: readiness by epoll. The portable default.
//!
//! * [`Tokio`]: the backend; one `LocalRuntime` per worker.
//! * `conn`: a connection; borrowed reads into pooled buffers, made only when the socket is readable.
//! * `listener`: readiness of a listening socket; accepting is `accept4(2)`.
//!
//! Nothing is ever in flight in the kernel, so withdrawing and closing are immediate.
#![forbid(unsafe_code)]

mod conn;
mod listener;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use corepool_core::backend::{Backend, Bind};
use corepool_core::cores::CoreId;
use corepool_core::error::Unavailable;
use corepool_os::{ListenSocket, StreamSocket, bind_group, pin};

pub use conn::TokioConn;
pub use listener::TokioListener;

/// The tokio runtime, on epoll.
#[derive(Debug)]
#[non_exhaustive]
pub struct Tokio;

/// The knobs of a tokio runtime.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// How many tasks are polled between two looks at epoll. Default: tokio's, 61. Smaller answers new
    /// input sooner, larger makes fewer system calls.
    pub event_interval: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { event_interval: 61 }
    }
}

impl Backend for Tokio {
    const NAME: &'static str = "tokio";
    type Conn = TokioConn;
    type Listener = TokioListener;
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
            Unavailable::new(
                Self::NAME,
                error.to_string(),
                "Choose cores of this process's affinity mask",
                error,
            )
        })?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .event_interval(config.event_interval)
            .build_local(tokio::runtime::LocalOptions::default())
            .map_err(|error| {
                let advice = "An epoll instance and an eventfd are needed: raise the limit of open files";
                Unavailable::new(Self::NAME, error.to_string(), advice, error)
            })?;
        Ok(runtime.block_on(async { root("epoll").await }))
    }

    fn spawn_local(future: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(future);
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        tokio::time::sleep(duration)
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn lent_buffers() -> usize {
        conn::lent_buffers()
    }
}
