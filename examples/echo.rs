//! An echo server on any backend: `cargo run --release --example echo -- --addr 127.0.0.1:7000`
//!
//! With several backends compiled in (`--all-features`), choose one by `--backend` or `COREPOOL_BACKEND`.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use corepool::{Backend, Choice, Connection, Handler, Placement, Server};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};

struct Echo;

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut conn: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = conn.recv().await? {
            conn.send(chunk).await?;
        }
        Ok(())
    }
}

/// Sends back whatever it receives, until SIGTERM or SIGINT.
#[derive(Parser)]
struct Args {
    /// Where to listen; may be given several times. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:7000")]
    addr: Vec<String>,
    /// How many workers [default: one for each core there is].
    #[arg(long)]
    workers: Option<usize>,
    /// The core of each worker, as in 0,2,4.
    #[arg(long, value_delimiter = ',')]
    cores: Option<Vec<usize>>,
    /// Connections that each worker serves at a time [default: as many as there are descriptors for].
    #[arg(long)]
    limit: Option<u32>,
    /// Which worker serves a connection: local-first, even, even:SLACK, round-robin, always-other.
    #[arg(long, default_value = "local-first")]
    placement: Placement,
    /// tokio, compio or monoio [default: the only one compiled in, or COREPOOL_BACKEND].
    #[arg(long)]
    backend: Option<String>,
    /// Print the counters every second.
    #[arg(long)]
    stats: bool,
}

fn main() -> ExitCode {
    let filter = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .init();
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<(), corepool::Error> {
    let mut server = Server::new().placement(args.placement);
    server = args.addr.iter().fold(server, Server::listen);
    server = args.workers.into_iter().fold(server, Server::workers);
    server = args.cores.into_iter().fold(server, Server::cores);
    server = args.limit.into_iter().fold(server, Server::limit);
    server = args.backend.into_iter().map(Choice::from).fold(server, Server::backend);

    let mut running = server.start(|_worker| Echo)?;
    running.end_on_signal().map_err(corepool::Error::Signals)?;
    say(&running.stats());
    if args.stats {
        let handle = running.handle();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                say(&handle.stats());
            }
        });
    }
    say(&running.join());
    Ok(())
}

/// Prints. A reader that has left is no reason to stop serving.
fn say(what: &impl Display) {
    let _ = writeln!(io::stdout(), "{what}");
}
