//! Whether another generator sees what the lab sees: `wrk` and the clients of the lab load one server in turn.
//!
//! Only rates can be compared, and only where the server sets them: how a generator hands out its requests changes
//! what each of them costs the server.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::comparison::pair;
use crate::cores::{Cores, on_core};
use crate::generator::{Busy, Clients};
use crate::plan::{Plan, PlanError, PlanOptions};
use crate::servers::{Server, ServerError};
use crate::statistics::{Estimate, Resamples, estimate};
use crate::workload::{Kind, WorkloadOptions};

/// What is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CrossCheckOptions {
    /// The server.
    pub system: String,
    /// Connections of each generator.
    pub connections: usize,
    /// How often the server is started.
    pub restarts: usize,
    /// Pairs of slices after each start.
    pub pairs: usize,
    /// Length of a slice, in whole seconds, because `wrk` knows no others.
    pub slice_seconds: u64,
}

impl Default for CrossCheckOptions {
    fn default() -> Self {
        Self { system: "tokio".to_owned(), connections: 64, restarts: 6, pairs: 4, slice_seconds: 1 }
    }
}

/// What came out.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CrossCheck {
    /// The lab's requests per second over those of `wrk`: the median of all pairs.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval_95: (f64, f64),
    /// Pairs of slices.
    pub pairs: usize,
    /// The mean of what each has seen.
    pub lab: Seen,
    /// The same of `wrk`.
    pub wrk: Seen,
}

/// What one generator has seen.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Seen {
    /// Requests per second.
    pub rate: f64,
    /// How busy the server was, 0 to 1.
    pub server_busy: f64,
}

impl CrossCheck {
    /// Whether the server was the limit of both; only then the ratio says something.
    #[must_use]
    pub fn is_server_bound(&self) -> bool {
        [self.lab, self.wrk].iter().all(|seen| seen.server_busy >= SERVER_BOUND)
    }

    /// Whether the two agree to so many percent.
    #[must_use]
    pub fn agrees(&self, percent: f64) -> bool {
        (self.ratio - 1.0).abs() <= percent / 100.0
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let seen = |name: &str, seen: Seen| {
            format!("{name}: {:.0} requests/s, server {:.1} % busy\n", seen.rate, 100.0 * seen.server_busy)
        };
        let (low, high) = self.interval_95;
        let ratio = format!("lab/wrk: {:.3} [{low:.3}, {high:.3}], {} pairs\n", self.ratio, self.pairs);
        let bound = match self.is_server_bound() {
            true => "",
            false => "The server was not the limit of both: the ratio says nothing about it.\n",
        };
        seen("lab", self.lab) + &seen("wrk", self.wrk) + &ratio + bound
    }
}

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrossCheckError {
    /// What was asked for does not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The server did not start, or ended.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The lab's clients could not go on.
    #[error("the load generator failed: {0}")]
    Clients(#[from] io::Error),
    /// `wrk` is not there, or says nothing that can be understood.
    #[error("wrk: {0}")]
    Wrk(String),
    /// Requests were lost.
    #[error("the lab lost requests: {0}")]
    Lost(String),
    /// Not one pair was run.
    #[error("no pair was measured")]
    Nothing,
}

/// Runs it: the HTTP service of the server, keep-alive.
///
/// # Errors
/// When a name is unknown, the server fails, requests are lost, or `wrk` is not installed.
pub fn cross_check(
    options: &CrossCheckOptions,
    mut tick: impl FnMut(),
) -> Result<CrossCheck, CrossCheckError> {
    let plan = plan(options)?;
    let cores = &plan.placement.client_cores;
    let clients = Clients::start(1, cores, &plan.workload)?;
    let mut restarts = Vec::new();
    for _ in 0..options.restarts {
        restarts.push(restart(options, &plan, &clients, &mut tick)?);
    }
    let ratios: Vec<Vec<_>> = restarts.iter().map(|pairs| pairs.iter().map(log_ratio).collect()).collect();
    let Estimate { ratio, interval_95, .. } =
        estimate(&ratios, 1, Resamples::Thorough, plan.seed).ok_or(CrossCheckError::Nothing)?;
    let pairs = restarts.concat();
    let [lab, wrk] = [0, 1].map(|side| mean(pairs.iter().map(|pair| pair[side])));
    Ok(CrossCheck { ratio, interval_95, pairs: pairs.len(), lab, wrk })
}

/// Starts the server, and returns what the lab and `wrk` have seen of it, pair by pair.
fn restart(
    options: &CrossCheckOptions,
    plan: &Plan,
    clients: &Clients,
    tick: &mut impl FnMut(),
) -> Result<Vec<[Seen; 2]>, CrossCheckError> {
    let name = &plan.systems[0].name;
    let mut server = Server::start(&plan.executable, name, &plan.serve(0))?;
    clients.connect(0, server.address())?;
    let mut pairs = Vec::new();
    for number in 0..=options.pairs {
        pairs.push(pair(number, |side| match side {
            0 => by_lab(&mut server, clients, plan.slice),
            _ => by_wrk(&mut server, options, &plan.placement.client_cores),
        })?);
        tick();
    }
    clients.disconnect()?;
    // The first pair has warmed up.
    pairs.remove(0);
    Ok(pairs)
}

fn log_ratio([lab, wrk]: &[Seen; 2]) -> f64 {
    (lab.rate / wrk.rate).ln()
}

fn mean(seen: impl ExactSizeIterator<Item = Seen>) -> Seen {
    let count = seen.len() as f64;
    let sum = seen.fold(Seen::default(), |sum, seen| Seen {
        rate: sum.rate + seen.rate,
        server_busy: sum.server_busy + seen.server_busy,
    });
    Seen { rate: sum.rate / count, server_busy: sum.server_busy / count }
}

/// The lab's own checks of names, cores and descriptors; of the two systems that it asks for, one is used.
fn plan(options: &CrossCheckOptions) -> Result<Plan, PlanError> {
    let mut wanted = PlanOptions {
        systems: vec![options.system.clone(), options.system.clone()],
        workload: WorkloadOptions {
            name: Kind::Http,
            connections: Some(options.connections),
            ..WorkloadOptions::default()
        },
        ..PlanOptions::default()
    };
    wanted.statistics.slice_seconds = options.slice_seconds as f64;
    Plan::new(wanted)
}

fn by_lab(server: &mut Server, clients: &Clients, time: Duration) -> Result<Seen, CrossCheckError> {
    let before = server.usage()?;
    let slice = clients.run(0, time)?;
    let spent = server.usage()?.since(&before);
    if slice.faults.total() > 0 {
        return Err(CrossCheckError::Lost(slice.faults.to_string()));
    }
    let rate = slice.requests as f64 / slice.elapsed.as_secs_f64();
    Ok(Seen { rate, server_busy: Busy::new(&slice, clients.threads(), spent.cpu, 1).server })
}

fn by_wrk(server: &mut Server, options: &CrossCheckOptions, cores: &Cores) -> Result<Seen, CrossCheckError> {
    let before = server.usage()?;
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--connections", &options.connections.to_string()])
        .args(["--duration", &format!("{}s", options.slice_seconds)])
        .arg(format!("http://{}/", server.address()))
        .stdin(Stdio::null());
    let began = Instant::now();
    let output = on_core(cores.wrapping(0), || wrk.output())
        .map_err(|error| CrossCheckError::Wrk(format!("{error}; Debian's package wrk has it")))?;
    let elapsed = began.elapsed();
    let spent = server.usage()?.since(&before);
    let said = String::from_utf8_lossy(&output.stdout);
    let rate = rate(&said)
        .ok_or_else(|| CrossCheckError::Wrk(format!("{said}{}", String::from_utf8_lossy(&output.stderr))))?;
    Ok(Seen { rate, server_busy: spent.cpu.as_secs_f64() / elapsed.as_secs_f64() })
}

/// The requests per second that `wrk` reports, if none went wrong.
fn rate(said: &str) -> Option<f64> {
    let is_faulty = ["Socket errors", "Non-2xx"].iter().any(|fault| said.contains(fault));
    let line = said.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?;
    line.trim().parse().ok().filter(|_| !is_faulty)
}

/// A server that is less busy waits for its clients. A slice of `wrk` begins with the start of a process.
const SERVER_BOUND: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Running 1s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   1.01ms\n  91000 requests in 1.00s\n\
        Requests/sec:  90876.54\nTransfer/sec:     55.44MB\n";

    #[test]
    fn a_rate_counts_if_nothing_went_wrong() {
        assert_eq!(rate(SAID), Some(90876.54));
        assert_eq!(rate(&SAID.replace("Requests/sec", "  Non-2xx or 3xx responses: 7\nRequests/sec")), None);
        assert_eq!(rate("unable to connect"), None);
    }

    #[test]
    fn a_ratio_says_something_only_where_the_server_is_the_limit() {
        let seen = |server_busy| Seen { rate: 1000.0, server_busy };
        let mut check =
            CrossCheck { ratio: 1.04, interval_95: (1.0, 1.08), pairs: 3, lab: seen(0.99), wrk: seen(0.99) };
        assert!(check.is_server_bound() && check.agrees(5.0) && !check.agrees(3.0));
        assert!(!check.words().contains("says nothing"));
        check.wrk = seen(0.7);
        assert!(!check.is_server_bound() && check.words().contains("says nothing"));
    }
}
