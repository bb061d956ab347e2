//! The command line: names, defaults and help of the options. Whether a value
//! makes sense is decided where it is used.

use std::net::{SocketAddr, ToSocketAddrs};

use clap::{Args, Parser, Subcommand};
use corepool::Scope;
use corepool_lab::cores::Cores;
use corepool_lab::generator::Slo;
use corepool_lab::load::LoadOptions;
use corepool_lab::placement::Mode;
use corepool_lab::plan::{PlanOptions, StatisticsOptions};
use corepool_lab::serve::ServeOptions;
use corepool_lab::serve::admitted::Admitted;
use corepool_lab::serve::registry;
use corepool_lab::serve::served_by::ServedBy;
use corepool_lab::serve::when_full::WhenFull;
use corepool_lab::statistics::Precision;
use corepool_lab::workload::{Closes, Direction, Kind, Mix, Service, WorkloadOptions};

use crate::commands::calibrate::CalibrateArguments;
use crate::commands::compare::CompareArguments;
use crate::commands::cross_check::CrossCheckArguments;
use crate::commands::doctor::DoctorArguments;
use crate::commands::report::ReportArguments;
use crate::commands::run::RunArguments;
use crate::commands::suite::SuiteArguments;
use crate::output::{JsonOutput, Output};

/// Compares servers of corepool, and loads them.
#[derive(Debug, Parser)]
#[command(version, about, after_help = systems(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare servers in one interleaved run
    Ab(Box<AbArguments>),
    /// Run the experiment of a file; what has been measured already is kept
    Run(RunArguments),
    /// Repeat a study, as far as this machine allows
    Suite(SuiteArguments),
    /// Show results again, in any form
    Report(ReportArguments),
    /// Look what got worse from an older result to a newer one
    Compare(CompareArguments),
    /// Try how often a difference is claimed where there is none, and found where there is one
    Calibrate(CalibrateArguments),
    /// Load a server with wrk and with the lab in turn, and look whether they see the same
    CrossCheck(CrossCheckArguments),
    /// Look whether this machine is fit to measure on and to serve from; ends with 0 or 2
    Doctor(DoctorArguments),
    /// Load any echo server
    Load(LoadArguments),
    /// Run one of the servers until the standard input ends
    Serve(ServeArguments),
}

#[derive(Debug, Args)]
#[command(after_help = systems())]
pub(crate) struct AbArguments {
    /// The servers: A, B, and more that are compared with A too; names of the lab, with options of
    /// `serve` if you like ("tokio --limit=8"), or commands of your own, which find their address in
    /// LAB_ADDR or in place of {addr}
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// The server that the others are compared with, as the first SERVER
    #[arg(long, value_name = "SERVER", requires = "b")]
    a: Option<String>,
    /// The other server, as the second SERVER
    #[arg(long, value_name = "SERVER", requires = "a")]
    b: Option<String>,
    #[command(flatten)]
    traffic: Traffic,
    #[command(flatten)]
    workers: Workers,
    #[command(flatten)]
    statistics: Statistics,
    /// How servers and clients share the cores: split, shared, one-cpu [default: split]
    #[arg(long = "where", value_name = "HOW")]
    mode: Option<Mode>,
    /// Cores of the servers, such as 0,2-3 [default: the first ones]
    #[arg(long)]
    server_cores: Option<Cores>,
    /// Cores of the clients, a thread on each [default: those after the servers']
    #[arg(long)]
    client_cores: Option<Cores>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
struct Statistics {
    /// Pairs of slices, one of A and one of B
    #[arg(long, default_value_t = 48)]
    pairs: usize,
    /// Length of a slice in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.3)]
    slice: f64,
    /// How often all servers are started anew
    #[arg(long, default_value_t = 12)]
    restarts: usize,
    /// Go on until the interval of the CPU per request is as narrow as this, such as 1%
    #[arg(long, value_name = "PERCENT")]
    until: Option<Precision>,
    /// Stop after so many seconds [default: 600 with --until]
    #[arg(long, value_name = "SECONDS")]
    budget: Option<f64>,
    /// Do not run A against itself first
    #[arg(long)]
    no_noise: bool,
    /// Find also the highest rate at which each server keeps this, such as p99=2ms
    #[arg(long, value_name = "PERCENTILE=TIME")]
    slo: Option<Slo>,
    /// What all random choices are made from [default: random]
    #[arg(long)]
    seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArguments {
    /// The server, such as localhost:7777
    #[arg(value_parser = resolve)]
    address: SocketAddr,
    #[command(flatten)]
    traffic: Traffic,
    /// Client threads
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// How long
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Find the highest rate that keeps this, such as p99=2ms
    #[arg(long, value_name = "PERCENTILE=TIME")]
    slo: Option<Slo>,
    /// Cores that the threads are pinned to, in turn [default: not pinned]
    #[arg(long)]
    cores: Option<Cores>,
    #[command(flatten)]
    pub(crate) output: JsonOutput,
}

#[derive(Debug, Args)]
#[command(after_help = systems(), args_override_self = true)]
pub(crate) struct ServeArguments {
    /// The server
    pub(crate) name: String,
    /// Where it listens; port 0 takes a free one
    #[arg(long, value_parser = resolve, default_value = "127.0.0.1:7777")]
    addr: SocketAddr,
    /// What it does with what it receives, such as echo, work:128:mixed, http:1024
    #[arg(long, default_value_t)]
    service: Service,
    #[command(flatten)]
    workers: Workers,
    /// Cores that the workers are pinned to, in turn [default: not pinned]
    #[arg(long)]
    cores: Option<Cores>,
}

#[derive(Debug, Args)]
struct Traffic {
    /// What the clients do: echo, churn, saturation, skew, work, idle, stream, http
    #[arg(long, value_name = "NAME", default_value_t)]
    workload: Kind,
    /// Connections to each server [default: 64, or as the workload needs]
    #[arg(long, value_name = "N")]
    conns: Option<usize>,
    /// Bytes of a request and of its reply [default: 512, or as the workload needs]
    #[arg(long, value_name = "N")]
    bytes: Option<usize>,
    /// Requests under way on a connection at a time [default: 1]
    #[arg(long, value_name = "N")]
    pipeline: Option<usize>,
    /// Open a new connection after so many requests; 0 for never
    #[arg(long, value_name = "N")]
    requests_per_connection: Option<u64>,
    /// Who closes first in churn: client, server, reset [default: client]
    #[arg(long, value_name = "WHO")]
    closes: Option<Closes>,
    /// Idle connections besides the others, in idle [default: 4000]
    #[arg(long, value_name = "N")]
    idle: Option<usize>,
    /// A tenth of the connections sends nine tenths of the requests, in work
    #[arg(long)]
    uneven: bool,
    /// What is asked for in work: pure-cpu, cpu-heavy, mixed, io-heavy, pure-io
    #[arg(long)]
    mix: Option<Mix>,
    /// Which way stream goes: up, down, both [default: both]
    #[arg(long)]
    direction: Option<Direction>,
    /// What http asks for [default: /]
    #[arg(long)]
    path: Option<String>,
    /// Send so many requests per second, whether or not replies come
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
}

impl Traffic {
    fn options(&self) -> WorkloadOptions {
        let mut options = WorkloadOptions::of(self.workload);
        options.connections = self.conns;
        options.bytes = self.bytes;
        options.pipeline = self.pipeline;
        options.requests_per_connection = self.requests_per_connection;
        options.closes = self.closes;
        options.idle = self.idle;
        options.uneven = self.uneven.then_some(true);
        options.mix = self.mix;
        options.direction = self.direction;
        options.path.clone_from(&self.path);
        options.rate = self.rate;
        options
    }
}

#[derive(Debug, Args)]
struct Workers {
    /// Workers of each server
    #[arg(long, value_name = "N", default_value_t = 1)]
    workers: usize,
    /// Connections that a worker of the framework serves at a time
    #[arg(long, value_name = "N", overrides_with = "admission")]
    limit: Option<u32>,
    /// What sets that limit instead: adaptive:LEAST..MOST, unlimited
    #[arg(long, value_name = "HOW", overrides_with = "limit")]
    admission: Option<Admitted>,
    /// What a permit of the framework is for: connection, request [default: connection]
    #[arg(long, value_name = "WHAT")]
    scope: Option<Scope>,
    /// Where the framework puts a connection: local-first, even, round-robin, always-other, shared-queue, none
    #[arg(long, value_name = "POLICY")]
    placement: Option<ServedBy>,
    /// What the framework does with a connection when every worker is full: queue, pause, reject, serve-anyway
    #[arg(long, value_name = "POLICY")]
    overflow: Option<WhenFull>,
}

impl AbArguments {
    pub(crate) fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::default();
        options.systems = [&self.a, &self.b].into_iter().flatten().chain(&self.servers).cloned().collect();
        options.workload = self.traffic.options();
        options.servers.workers = self.workers.workers;
        options.servers.limit = self.workers.limit;
        options.servers.admission = self.workers.admission;
        options.servers.scope = self.workers.scope.map(|scope| scope.to_string());
        options.servers.overflow = self.workers.overflow;
        options.servers.policy = self.workers.placement;
        options.placement.mode = self.mode;
        options.placement.server_cores.clone_from(&self.server_cores);
        options.placement.client_cores.clone_from(&self.client_cores);
        options.statistics = self.statistics.options();
        options
    }
}

impl Statistics {
    fn options(&self) -> StatisticsOptions {
        let mut options = StatisticsOptions::default();
        options.pairs = self.pairs;
        options.slice_seconds = self.slice;
        options.restarts = self.restarts;
        options.until = self.until;
        options.budget_seconds = self.budget;
        options.noise = !self.no_noise;
        options.slo = self.slo;
        options.seed = self.seed;
        options
    }
}

impl LoadArguments {
    pub(crate) fn options(&self) -> LoadOptions {
        let mut options = LoadOptions::new(self.address);
        options.workload = self.traffic.options();
        options.threads = self.threads;
        options.seconds = self.seconds;
        options.slo = self.slo;
        options.cores.clone_from(&self.cores);
        options
    }
}

impl ServeArguments {
    pub(crate) fn options(&self) -> ServeOptions {
        let mut options = ServeOptions::default();
        options.address = self.addr;
        options.service = self.service;
        options.workers = self.workers.workers;
        options.limit = self.workers.limit;
        options.admission = self.workers.admission;
        options.scope = self.workers.scope.unwrap_or_default();
        options.placement = self.workers.placement;
        options.overflow = self.workers.overflow;
        if let Some(cores) = &self.cores {
            options.cores = cores.clone();
        }
        options
    }
}

fn resolve(text: &str) -> Result<SocketAddr, String> {
    let mut addresses = text.to_socket_addrs().map_err(|error| error.to_string())?;
    addresses.next().ok_or_else(|| "the name has no address".to_owned())
}

fn systems() -> String {
    let lines =
        registry::systems().map(|system| format!("  {:22}{}, {}", system.name, system.about, system.driver));
    format!("Servers:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
