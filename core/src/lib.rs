//! The seam, the server and the admission protocol of corepool. Names no runtime.
//!
//! The map, from the outside in:
//! * [`server`], [`handle`], [`config`], [`stats`]: a server's threads, its remote control, what the user says and
//!   what it tells of itself. `signal` forwards SIGTERM, `sweeper` says when to look over
//!   the connections. `log` makes entries that cannot hurt. `cores` plans which worker runs where.
//! * [`mod@worker`]: the future that is a worker; it accepts, receives, sweeps and winds down. `local` is what its tasks
//!   share, `shared` what all workers share.
//! * `admission`, [`placement`]: permits, and who serves what. `ledger`: the counters and their laws.
//! * [`handler`], [`connection`], [`stream`]: what a user writes, and what a user is given. `serve`, `entry`, `close`: the
//!   task round a handler.
//! * [`backend`]: the seam. Below it are the runtimes, in crates of their own. [`buffer`]: pooled memory.
#![forbid(unsafe_code)]

mod accepting;
mod admission;
mod admit;
pub mod backend;
pub mod buffer;
mod check;
mod clients;
mod close;

pub mod config;
pub mod connection;
pub mod cores;
pub mod deadlines;
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
pub mod overflow;
pub mod placement;
mod request;
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
pub mod worker;

pub use admission::limit;
pub use backend::Backend;
pub use clients::PerClient;
pub use config::{Config, Scope};
pub use connection::{Chunk, Connection, Route};
pub use deadlines::Deadlines;
pub use error::{StartError, Unavailable};
pub use handle::Handle;
pub use handler::{Handler, WorkerInfo};
pub use laws::LawBroken;
pub use ledger::{Counts, Refusal};
pub use placement::Placement;
pub use request::Request;
pub use server::{Assembly, Server, assemble, start};
pub use stats::{Imbalance, Report, Stats, WorkerStats};
pub use times::{Distribution, WorkerTimes};
pub use worker::{WorkerContext, worker};
