//! Thread-per-core TCP servers whose handler is written once and runs on tokio (epoll), compio or monoio
//! (`io_uring`).
//!
//! ```no_run
//! use corepool::{Backend, Connection, Handler, Server};
//!
//! struct Echo;
//!
//! impl<B: Backend> Handler<B> for Echo {
//!     async fn serve(&self, mut conn: Connection<B>) -> std::io::Result<()> {
//!         while let Some(chunk) = conn.recv().await? {
//!             conn.send(chunk).await?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> Result<(), corepool::Error> {
//!     println!("{}", Server::new().listen("127.0.0.1:7000").run_until_signal(|_worker| Echo)?);
//!     Ok(())
//! }
//! ```
//!
//! Which runtime runs is chosen by Cargo feature (`tokio`, the default; `compio`; `monoio`), and, when several
//! are compiled in, by name: see [`Choice`]. Nothing falls back in silence: a backend that cannot start here is
//! an error that says why, unless the user has named another.
//!
//! The map: `backends` binds the features, and is the only place that does; [`choice`] picks one by name;
//! [`server`] starts it. Everything else is in `corepool-core`.
#![forbid(unsafe_code)]

mod backends;
pub mod choice;
pub mod server;

pub use backends::{AnyHandler, types as backend};
pub use choice::{Choice, ChoiceError};
pub use corepool_core::{
    Address, Backend, Chunk, Config, ConnectError, Connection, Connector, Deadlines, Duplex, Handle, Handler,
    LocalPool, Outbound, PerClient, Placement, Refusal, Report, Request, Resource, Route, Scope, StartError,
    Stats, Unavailable, WorkerInfo, WorkerStats, address, buffer, chunk, config, connect, connection, duplex,
    handle, handler, handoff, limit, outbound, overflow, pool, stats, stream, upkeep,
};
pub use server::{Error, Server};

/// The names of the backends that are compiled in.
pub fn compiled_in() -> &'static [&'static str] {
    backends::NAMES
}
