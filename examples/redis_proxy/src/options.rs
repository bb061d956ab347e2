//! What a proxy is told.

use std::time::Duration;

use corepool::Address;

use crate::resp::Limits;

/// How clients and upstream connections belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[expect(clippy::exhaustive_enums, reason = "a proxy must handle each")]
pub enum Mode {
    /// A client has a connection of its own for as long as its requests need one.
    Direct,
    /// Many clients over few connections.
    Shared,
}

/// The options of a proxy. All counts are for each worker.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a plain record of options")]
pub struct Options {
    /// The addresses of the Redis: the first that answers is taken.
    pub upstream: Vec<Address>,
    /// Who shares what.
    pub mode: Mode,
    /// The most upstream connections; in shared mode, how many there are.
    pub connections: usize,
    /// How long connecting, and waiting for a connection to be free, may take.
    pub acquire_timeout: Duration,
    /// How long an upstream may owe a reply without sending a byte, and a client may dawdle in the middle of a request or
    /// leave its replies unread.
    pub stall_timeout: Duration,
    /// How long an upstream connection that nobody needs is kept.
    pub idle_timeout: Duration,
    /// Shared mode: how many replies an upstream connection may owe at a time.
    pub window: u32,
    /// Shared mode: how many bytes may wait for a client that does not read; it is cut off then.
    pub output_max: usize,
    /// The limits of requests. In shared mode a request is held whole until it is sent.
    pub limits: Limits,
}
