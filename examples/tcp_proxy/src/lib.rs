//! A TCP proxy on corepool: what each client sends goes to one of several upstreams, and back.
//!
//! * [`proxy`]: the handler, one value on each worker. [`upstreams`]: whose turn it is.
//! * [`relay()`]: bytes both ways between two connections, with half close and backpressure.
//! * [`watchdog`]: who has made no progress for too long; no timer, the worker's sweep looks.
//! * [`command_line`]: the program's arguments. [`serving`]: what every proxy's `main` does.
#![forbid(unsafe_code)]

pub mod command_line;
pub mod proxy;
pub mod relay;
pub mod serving;
pub mod upstreams;
pub mod watchdog;

pub use proxy::{Options, TcpProxy};
pub use relay::relay;
pub use watchdog::{Watchdog, Watched};
