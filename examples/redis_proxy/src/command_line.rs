//! The program's arguments.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use corepool::Address;
use tcp_proxy::serving::{self, RunError, ServerArguments};

use crate::options::{Mode, Options};
use crate::proxy::RedisProxy;
use crate::resp::Limits;
use crate::totals::SharedTotals;

/// Passes Redis clients on to a Redis, over few connections for each core, until SIGTERM or SIGINT.
#[derive(Debug, Parser)]
#[non_exhaustive]
pub struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// The Redis, as in 127.0.0.1:6379 or unix:/run/redis.sock. Given several times, they are addresses of the same: the
    /// first that answers is taken.
    #[arg(long, required = true)]
    upstream: Vec<String>,
    /// direct: a client has a connection of its own while it needs one. shared: all clients share them.
    #[arg(long, value_enum, default_value_t = Mode::Direct)]
    mode: Mode,
    /// Upstream connections of each worker: at most in direct mode, always in shared mode [default: 64 direct, 2 shared].
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_535))]
    connections: Option<usize>,
    /// Milliseconds that a request may wait for an upstream connection.
    #[arg(long, default_value_t = 5000, value_parser = serving::milliseconds())]
    acquire_timeout_ms: u64,
    /// Milliseconds without a byte from an upstream that owes a reply, or a client in the middle of a request.
    #[arg(long, default_value_t = 30_000, value_parser = serving::milliseconds())]
    stall_timeout_ms: u64,
    /// Milliseconds that an upstream connection is kept which nobody needs.
    #[arg(long, default_value_t = 60_000, value_parser = serving::milliseconds())]
    idle_timeout_ms: u64,
    /// Shared mode: replies that an upstream connection may owe at a time.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    window: u32,
    /// Shared mode: bytes that may wait for a client that does not read its replies, before it is cut off.
    #[arg(long, default_value_t = 64 << 20, value_parser = RangedU64ValueParser::<usize>::new().range(1024..))]
    output_max: usize,
    /// The longest request, in bytes [default: 1 GiB as in Redis direct, 16 MiB shared].
    #[arg(long, value_parser = clap::value_parser!(u64).range(64..))]
    request_max: Option<u64>,
    /// The longest argument of a request, in bytes.
    #[arg(long, default_value_t = Limits::REQUESTS.bulk_max)]
    bulk_max: u64,
    /// The most arguments of a request.
    #[arg(long, default_value_t = Limits::REQUESTS.elements_max, value_parser = clap::value_parser!(u64).range(1..))]
    arguments_max: u64,
    /// The longest inline command, in bytes.
    #[arg(long, default_value_t = Limits::REQUESTS.line_max)]
    inline_max: u32,
}

impl Arguments {
    /// Runs the proxy until a signal ends it.
    ///
    /// # Errors
    /// It cannot start.
    pub fn run(self) -> Result<(), RunError> {
        let options = self.options()?;
        let totals = SharedTotals::default();
        let adding = Arc::clone(&totals);
        self.server.serve(move |worker| RedisProxy::new(&options, worker, &adding))?;
        serving::say(&*totals.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    fn options(&self) -> io::Result<Options> {
        let resolved: io::Result<Vec<_>> = self.upstream.iter().map(|text| Address::resolve(text)).collect();
        let is_shared = self.mode == Mode::Shared;
        Ok(Options {
            upstream: resolved?.concat(),
            mode: self.mode,
            connections: self.connections.unwrap_or(if is_shared { 2 } else { 64 }),
            acquire_timeout: Duration::from_millis(self.acquire_timeout_ms),
            stall_timeout: Duration::from_millis(self.stall_timeout_ms),
            idle_timeout: Duration::from_millis(self.idle_timeout_ms),
            window: self.window,
            output_max: self.output_max,
            limits: Limits {
                line_max: self.inline_max,
                bulk_max: self.bulk_max,
                elements_max: self.arguments_max,
                message_max: self.request_max.unwrap_or(if is_shared { 16 << 20 } else { 1 << 30 }),
                ..Limits::REQUESTS
            },
        })
    }
}
