//! `corepool-lab-proxies`: the proxies of corepool against twemproxy, HAProxy, and one written by hand.
//!
//! `compare` prints, for each comparison, CPU time per request (per MB for streams) and the ratio with its intervals.
//! `control` is the proxy by hand, which `compare` starts by itself.
#![forbid(unsafe_code)]

mod comparison;
mod contenders;
mod control;
mod traffic;

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use comparison::{Effort, compare};
use contenders::Contender::{self, Control, Haproxy, Nutcracker, Redis, Tcp};
use corepool_lab::cores::{Cores, pin_current_thread};
use traffic::Traffic;

/// Compares the proxies of corepool with others.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure, and print ratios with intervals
    Compare {
        /// How often both proxies of a comparison are started anew
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100))]
        restarts: u16,
        /// Pairs of slices after each start
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
        pairs: u16,
        /// Requests in a slice, in thousands; streams and messages are in proportion
        #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        thousands: u32,
        /// Connections of a Redis proxy to its upstream
        #[arg(long, default_value_t = 2)]
        connections: usize,
        /// Only comparisons whose names have this in them
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Run the Redis proxy by hand
    Control {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        upstream: SocketAddr,
        #[arg(long, default_value_t = 2)]
        connections: usize,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell it to if this fails.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Control { listen, upstream, connections } => {
            Ok(control::run(listen, upstream, connections)?)
        }
        Command::Compare { restarts, pairs, thousands, connections, only } => {
            let cores = Cores::allowed()?;
            let core = cores.wrapping(0).ok_or("no core is allowed")?;
            let client_core = cores.wrapping(1).unwrap_or(core);
            let effort =
                Effort { restarts: restarts.into(), pairs: pairs.into(), connections, core, client_core };
            // Clients and upstreams are threads and children of this one, and stay where it is.
            pin_current_thread(client_core)?;
            let chosen = comparisons(thousands * 1000);
            let chosen = chosen.into_iter().filter(|(a, b, traffic)| title(*a, *b, *traffic).contains(&only));
            chosen.into_iter().try_for_each(|(a, b, traffic)| show(a, b, traffic, effort))
        }
    }
}

/// A, B, and what they are loaded with.
fn comparisons(requests: u32) -> Vec<(Contender, Contender, Traffic)> {
    let mut comparisons = Vec::new();
    for (pipelining, requests) in [(1, requests), (16, requests * 8)] {
        let traffic = Traffic::Redis { pipelining, requests };
        comparisons
            .extend(["tokio", "compio", "monoio"].map(|backend| (Nutcracker, Redis(backend), traffic)));
        comparisons.push((Control, Redis("tokio"), traffic));
    }
    let streams = Traffic::Streams { bytes: u64::from(requests) * 16_000 };
    let messages = Traffic::Messages { count: requests };
    for traffic in [streams, messages] {
        comparisons.extend(["tokio", "compio", "monoio"].map(|backend| (Haproxy, Tcp(backend), traffic)));
    }
    comparisons
}

fn title(a: Contender, b: Contender, traffic: Traffic) -> String {
    format!("{}: {} / {}", traffic.name(), b.name(), a.name())
}

fn show(a: Contender, b: Contender, traffic: Traffic, effort: Effort) -> Result<(), Box<dyn Error>> {
    let outcome = compare([a, b], traffic, effort)?;
    let ratio = outcome.ratio;
    let [cpu_a, cpu_b] = outcome.cpu.map(|cpu| cpu.as_secs_f64() * 1e6);
    let ((low_95, high_95), (low_99, high_99)) = (ratio.interval_95, ratio.interval_99);
    writeln!(
        io::stdout(),
        "{:<64} {:.3}  95 % [{low_95:.3}, {high_95:.3}]  99 % [{low_99:.3}, {high_99:.3}]  {cpu_b:.3} / {cpu_a:.3} us per {}",
        title(a, b, traffic),
        ratio.ratio,
        traffic.unit(),
    )?;
    Ok(())
}
