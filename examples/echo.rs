//! An echo server on any backend: `cargo run --release --example echo -- --addr 127.0.0.1:7000`
//!
//! With several backends compiled in (`--all-features`), choose one by `--backend` or `COREPOOL_BACKEND`.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use corepool::overflow::{Pause, Queue, Reject, ServeAnyway};
use corepool::{Backend, Choice, Connection, Handler, Placement, Refusal, Scope, Server};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};

struct Echo {
    /// Whether what is received at once counts as a request.
    by_request: bool,
}

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut conn: Connection<B>) -> io::Result<()> {
        if self.by_request {
            return serve_requests(conn).await;
        }
        while let Some(chunk) = conn.recv().await? {
            conn.send(chunk).await?;
        }
        Ok(())
    }

    async fn refuse(&self, mut conn: Connection<B>, refusal: Refusal) {
        // A client that has left already is told nothing.
        let _ = conn.send(format!("sorry: {refusal}\n").into_bytes()).await;
    }
}

async fn serve_requests<B: Backend>(mut conn: Connection<B>) -> io::Result<()> {
    while let Some(request) = conn.request().await? {
        let Some(chunk) = conn.recv().await? else { break };
        let sent = conn.send(chunk);
        drop(request); // the permit is for the work; a client that does not read holds none
        sent.await?;
    }
    Ok(())
}

/// What happens when every worker is full.
#[derive(Clone, Copy, clap::ValueEnum)]
enum WhenFull {
    /// Wait in the queue.
    Queue,
    /// Close.
    Reject,
    /// Reset.
    Reset,
    /// Say sorry, and close.
    Reply,
    /// Accept nothing more.
    Pause,
    /// Serve over the limit.
    Serve,
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
    /// What permits are for: connection or request.
    #[arg(long, default_value = "connection")]
    scope: Scope,
    /// What happens when every worker is full.
    #[arg(long, value_enum, default_value = "queue")]
    overflow: WhenFull,
    /// How many connections may wait in the queue, in the whole server.
    #[arg(long, default_value_t = 1024)]
    queue: u32,
    /// How long one may wait in the queue, in seconds.
    #[arg(long, value_parser = seconds, default_value = "5")]
    queue_deadline: Duration,
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
    let mut server = Server::new().placement(args.placement).scope(args.scope);
    server = match args.overflow {
        WhenFull::Queue => server.overflow(Queue::new(args.queue, args.queue_deadline)),
        WhenFull::Reject => server.overflow(Reject::Close),
        WhenFull::Reset => server.overflow(Reject::Reset),
        WhenFull::Reply => server.overflow(Reject::Reply),
        WhenFull::Pause => server.overflow(Pause),
        WhenFull::Serve => server.overflow(ServeAnyway),
    };
    server = args.addr.iter().fold(server, Server::listen);
    server = args.workers.into_iter().fold(server, Server::workers);
    server = args.cores.into_iter().fold(server, Server::cores);
    server = args.limit.into_iter().fold(server, Server::limit);
    server = args.backend.into_iter().map(Choice::from).fold(server, Server::backend);

    let by_request = args.scope == Scope::Request;
    let mut running = server.start(move |_worker| Echo { by_request })?;
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

fn seconds(text: &str) -> Result<Duration, String> {
    let count = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(count).map_err(|error| error.to_string())
}

/// Prints. A reader that has left is no reason to stop serving.
fn say(what: &impl Display) {
    let _ = writeln!(io::stdout(), "{what}");
}
