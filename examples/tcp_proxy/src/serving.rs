//! What every proxy's `main` does: the arguments about the server itself, the log, start, and the drain at a signal.

use std::fmt::Display;
use std::io::{self, Write};

use clap::Args;
use clap::builder::RangedU64ValueParser;
use corepool::{AnyHandler, Choice, Error, Placement, Server, WorkerInfo};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};

/// The arguments about the server itself.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct ServerArguments {
    /// Where to listen; may be given several times. Port 0 takes a free one.
    #[arg(long, required = true)]
    pub listen: Vec<String>,
    /// How many workers [default: one for each core there is].
    #[arg(long)]
    pub workers: Option<usize>,
    /// The core of each worker, as in 0,2,4.
    #[arg(long, value_delimiter = ',')]
    pub cores: Option<Vec<usize>>,
    /// Clients that each worker serves at a time [default: as many as there are descriptors for].
    #[arg(long)]
    pub limit: Option<u32>,
    /// Which worker serves a client: local-first, even, even:SLACK, round-robin, always-other.
    #[arg(long, default_value = "local-first")]
    pub placement: Placement,
    /// The runtime: tokio, compio or monoio [default: the only one compiled in, or `COREPOOL_BACKEND`].
    #[arg(long)]
    pub backend: Option<String>,
}

impl ServerArguments {
    /// Serves until SIGTERM or SIGINT, then drains. Says where it listens once it serves, and what became of every
    /// client at the end.
    ///
    /// # Errors
    /// The server cannot start, or signals cannot be listened to.
    pub fn serve<H: AnyHandler>(
        self,
        factory: impl Fn(&WorkerInfo) -> H + Clone + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let mut server = Server::new().placement(self.placement);
        server = self.listen.iter().fold(server, Server::listen);
        server = self.workers.into_iter().fold(server, Server::workers);
        server = self.cores.into_iter().fold(server, Server::cores);
        server = self.limit.into_iter().fold(server, Server::limit);
        server = self.backend.into_iter().map(Choice::from).fold(server, Server::backend);
        let mut running = server.start(factory)?;
        running.end_on_signal().map_err(Error::Signals)?;
        say(&running.stats());
        say(&running.join());
        Ok(())
    }
}

/// Why the proxy did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An upstream is no address, or its name has none.
    #[error(transparent)]
    Upstream(#[from] io::Error),
    /// The server did not start.
    #[error(transparent)]
    Server(#[from] Error),
}

/// A parser of a time in milliseconds: some, and a day at the most.
pub fn milliseconds() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=86_400_000)
}

/// Logs to the standard error, what `RUST_LOG` asks for, or else what is worth to know.
pub fn log() {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .init();
}

/// Prints. A reader that has left is no reason to stop serving.
pub fn say(what: &impl Display) {
    let _ = writeln!(io::stdout(), "{what}");
}
