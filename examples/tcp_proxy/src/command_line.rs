//! The program's arguments.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use crate::proxy::{Options, SharedTotals, TcpProxy, Totals};
use crate::serving::{self, RunError, ServerArguments};
use crate::upstreams;

/// Passes TCP connections on to upstreams in turn, until SIGTERM or SIGINT.
#[derive(Debug, Parser)]
#[non_exhaustive]
pub struct Arguments {
    #[command(flatten)]
    server: ServerArguments,
    /// An upstream, as in 127.0.0.1:8080 or unix:/run/app.sock; may be given several times.
    #[arg(long, required = true)]
    upstream: Vec<String>,
    /// Milliseconds that connecting to one upstream may take, before the next is tried.
    #[arg(long, default_value_t = 5000, value_parser = serving::milliseconds())]
    connect_timeout_ms: u64,
    /// Milliseconds that a connection may go without a byte in either direction.
    #[arg(long, default_value_t = 3_600_000, value_parser = serving::milliseconds())]
    idle_timeout_ms: u64,
}

impl Arguments {
    /// Runs the proxy until a signal ends it.
    ///
    /// # Errors
    /// It cannot start.
    pub fn run(self) -> Result<(), RunError> {
        let options = Options {
            upstreams: upstreams::resolve(&self.upstream)?,
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            idle_timeout: Duration::from_millis(self.idle_timeout_ms),
        };
        let totals = SharedTotals::default();
        let adding = Arc::clone(&totals);
        self.server.serve(move |worker| TcpProxy::new(&options, worker, &adding))?;
        let totals = *totals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        serving::say(&totals);
        Ok(())
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relayed, unreached, passed_over, idle, failed } = self;
        write!(
            f,
            "clients: relayed={relayed} unreached={unreached} idle={idle} failed={failed} upstreams: passed_over={passed_over}"
        )
    }
}
