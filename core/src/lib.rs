//! The seam, the server and the admission protocol of corepool. Names no runtime.
//!
//! The map, from the outside in:
//! * [`server`], [`handle`], [`config`], [`stats`]: a server's threads, its remote control, what the user says and
//!   what it tells of itself. `signal` forwards SIGTERM, `sweeper` says when to look over
//!   the connections. `log` makes entries that cannot hurt. `cores` plans which worker runs where.
//! * [`mod@worker`]: the future that is a worker; it accepts, receives, sweeps and winds down. `local` is what its tasks
//!   share, `shared` what all workers share, `mail` what they send each other. `accepting` and `last_call` decide what it
//!   does when accepting fails, and when it closes.
//! * `admit`: what becomes of an accepted connection. [`handoff`] and [`placement`] find it a worker, [`limit`] says how
//!   many each serves, [`overflow`] what happens when all are full; `admission` holds the permits and the queue, `clients`
//!   counts by address. `ledger`, `laws`, `times`: what is counted, what must hold, how long things took.
//! * [`handler`], [`connection`], [`duplex`], [`chunk`], [`stream`]: what a user writes, and what a user is given. `serve`,
//!   `entry`, `close`: the task round a handler.
//! * [`connect`], [`outbound`], [`address`]: connections that we open. `closing`: how one that is dropped is closed.
//! * [`backend`]: the seam. Below it are the runtimes, in crates of their own. [`buffer`]: pooled memory.
#![forbid(unsafe_code)]

mod accepting;
pub mod address;
mod admission;
mod admit;
pub mod backend;
pub mod buffer;
mod check;
pub mod chunk;
mod clients;
mod close;
mod closing;
pub mod config;
pub mod connect;
pub mod connection;
mod contain;
pub mod cores;
pub mod deadlines;
pub mod duplex;
mod entry;
pub mod error;
pub mod handle;
pub mod handler;
pub mod handoff;
mod last_call;
mod laws;
mod ledger;
mod local;
mod log;
mod mail;
#[doc(hidden)]
pub mod measure;
pub mod outbound;
pub mod overflow;
pub mod placement;
pub mod pool;
mod registry;
mod request;
mod runtime;
mod serve;
pub mod server;
mod settings;
mod shared;
mod signal;
pub mod stats;
pub mod stream;
mod sweeper;
mod sync;
mod times;
pub mod upkeep;
pub mod worker;

pub use address::Address;
pub use admission::limit;
pub use backend::Backend;
pub use chunk::Chunk;
pub use clients::PerClient;
pub use config::{Config, Scope};
pub use connect::{ConnectError, Connector};
pub use connection::{Connection, Route};
pub use deadlines::Deadlines;
pub use duplex::Duplex;
pub use error::{StartError, Unavailable};
pub use handle::Handle;
pub use handler::{Handler, WorkerInfo};
pub use laws::LawBroken;
pub use ledger::{Counts, Refusal};
pub use outbound::Outbound;
pub use placement::Placement;
pub use pool::{LocalPool, Resource};
pub use request::Request;
pub use server::{Assembly, Server, assemble, start};
pub use stats::{Imbalance, Report, Stats, WorkerStats};
pub use times::{Distribution, WorkerTimes};
pub use worker::{WorkerContext, worker};
