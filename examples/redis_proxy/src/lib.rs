//! A Redis proxy on corepool: clients speak RESP to it, and their requests go to a Redis over few connections of each
//! core.
//!
//! From the outside in:
//! * [`command_line`], [`options`]: what it is told. [`proxy`]: the handler. [`totals`]: what it counts.
//! * `direct`: one to one, by the `exchange` of requests and replies with a leased connection; `intake` and `assembler`
//!   make ready what goes over it.
//! * `shared`: many clients over few connections.
//! * `upstream`: the pool of connections, and what is done with a new one.
//! * [`answers`]: what the proxy itself says. [`command`]: which commands bind. [`resp`]: where messages end.
#![forbid(unsafe_code)]

pub mod answers;
mod assembler;
pub mod command;
pub mod command_line;
mod direct;
mod exchange;
mod intake;
pub mod options;
pub mod proxy;
pub mod resp;
mod shared;
pub mod totals;
mod upstream;

pub use options::{Mode, Options};
pub use proxy::RedisProxy;
