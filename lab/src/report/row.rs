//! A finished comparison, told as data: everything that any form of output needs.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{Ratio, Values, by_key};
use crate::accounting::PerRequest;
use crate::comparison::{Measured, Measurement, Outcome, Round};
use crate::environment::{Disturbance, Machine};
use crate::figures::Figure;
use crate::generator::{Busy, Capacity, Faults, Slice};
use crate::placement::Placement;
use crate::plan::{Plan, PlanOptions};
use crate::workload::mix::Endpoint;

/// A comparison of servers under one load.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// Where, with what, and on what it was run.
    pub environment: Environment,
    /// The servers, in the order of the plan.
    pub systems: Vec<SystemResult>,
    /// Every server but the first, over the first.
    pub comparisons: Vec<Comparison>,
    /// The first server over itself: what a ratio is on this machine when there
    /// is no difference.
    pub noise: Option<BTreeMap<String, Ratio>>,
    /// What was lost, if anything was.
    pub failure: Option<String>,
    /// Every round, in the order in which they were run.
    pub samples: Vec<Sample>,
}

/// What a comparison must be read with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Environment {
    /// The machine and the software.
    #[serde(flatten)]
    pub machine: Machine,
    /// Who ran where.
    pub placement: Placement,
    /// What disturbed the run.
    #[serde(flatten)]
    pub disturbance: Disturbance,
    /// What was asked for.
    pub plan: PlanOptions,
    /// What all random choices were made from.
    pub seed: u64,
}

/// One of the servers. Figures are missing if no slice was clean.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SystemResult {
    /// Its name.
    pub name: String,
    /// What drove its sockets.
    pub driver: String,
    /// The figures over all clean slices, by [`Figure::key`].
    #[serde(flatten)]
    pub figures: Values,
    /// Requests with the right reply, in clean slices.
    pub requests: u64,
    /// Requests lost.
    pub errors: u64,
    /// What happened to them.
    pub faults: Faults,
    /// Slices run, with those to warm up.
    pub slices: usize,
    /// Slices in which requests were lost.
    pub failed_slices: usize,
    /// Threads that ended during a slice; what they used since its start is in
    /// no figure.
    pub threads_ended: usize,
    /// What it used for each request.
    pub server: PerRequest,
    /// What its clients used for each request.
    pub clients: PerRequest,
    /// Memory that it had at most.
    pub resident_bytes: u64,
    /// Memory that it got for each connection, from before the first one on.
    pub bytes_per_connection: f64,
    /// How long the replies took.
    pub percentiles: Vec<Percentile>,
    /// The same for each endpoint of the workload `work`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub endpoints: BTreeMap<String, Vec<Percentile>>,
    /// Requests that were planned and could not be sent in time.
    #[serde(default)]
    pub unsent: u64,
    /// Connections that waited for their first reply until the end of a slice, at most.
    #[serde(default)]
    pub waiting: usize,
    /// Connections that a full server closed instead of serving them.
    #[serde(default)]
    pub refused: u64,
    /// Sockets of this machine that were in TIME_WAIT at the end of a slice, at most.
    #[serde(default)]
    pub time_wait: usize,
    /// The part of their time that the client threads were busy, in percent; none where
    /// they share cores with the server.
    #[serde(default)]
    pub clients_busy_percent: Option<f64>,
    /// The part of their time that the workers were busy, in percent.
    #[serde(default)]
    pub server_busy_percent: Option<f64>,
    /// Whether the server had to wait for its clients.
    #[serde(default)]
    pub clients_are_the_limit: bool,
    /// The highest rate at which it keeps a promise, and all that were tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// The part that each worker had of the server's CPU time, the busiest first,
    /// as the mean of all restarts.
    #[serde(default)]
    pub worker_shares: Vec<f64>,
}

/// So many percent of the replies came within so many microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Percentile {
    /// How many of a hundred replies.
    pub percent: f64,
    /// Microseconds.
    pub us: f64,
}

/// One server over the first one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The server.
    pub system: String,
    /// The one that it is compared with.
    pub with: String,
    /// The ratio of every figure, by [`Figure::key`].
    pub ratios: BTreeMap<String, Ratio>,
}

/// One slice of each server, side by side in time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sample {
    /// The restart that it belongs to, from 0 on.
    pub restart: usize,
    /// The figures of each server, in the order of the plan; none where requests
    /// were lost.
    pub systems: Vec<Option<Values>>,
}

impl Row {
    /// Everything that is known after a comparison. `options` is what the plan
    /// was made from.
    #[must_use]
    pub fn new(
        options: &PlanOptions,
        plan: &Plan,
        measurement: &Measurement,
        machine: Machine,
        disturbance: Disturbance,
    ) -> Self {
        let outcome = &measurement.outcome;
        let names: Vec<_> = plan.systems.iter().map(|system| system.name.to_owned()).collect();
        let connections = plan.workload.sockets();
        let result = |(system, name): (usize, &String)| {
            let capacity = measurement.capacities.get(system).cloned();
            let result = SystemResult::new(name, &outcome.systems[system], outcome.busy(system), connections);
            SystemResult { capacity, ..result }
        };
        Self {
            environment: Environment {
                machine,
                placement: plan.placement.clone(),
                disturbance,
                plan: PlanOptions { workload: plan.workload.clone().into(), ..options.clone() },
                seed: plan.seed,
            },
            systems: names.iter().enumerate().map(result).collect(),
            comparisons: (1..names.len()).map(|system| Comparison::new(outcome, &names, system)).collect(),
            noise: measurement.noise.as_ref().map(|noise| ratios(noise, 1, "the second process")),
            failure: outcome.failure(&names),
            samples: samples(outcome),
        }
    }

    /// The figures that are known of any server, in the order in which they are
    /// shown.
    pub fn figures(&self) -> impl Iterator<Item = Figure> + '_ {
        let is_known = |figure: &Figure| self.systems.iter().any(|system| system.figure(*figure).is_some());
        let is_all_lost = self.systems.iter().all(|system| system.requests == 0);
        Figure::ALL.into_iter().filter(move |figure| is_all_lost || is_known(figure))
    }
}

impl SystemResult {
    fn new(name: &str, measured: &Measured, busy: Option<Busy>, connections: usize) -> Self {
        Self {
            name: name.to_owned(),
            driver: measured.driver.clone(),
            figures: by_key(measured.figures()),
            requests: measured.clients.requests,
            errors: measured.failed.faults.total(),
            faults: measured.failed.faults.clone(),
            slices: measured.slices,
            failed_slices: measured.failed_slices,
            threads_ended: measured.server.threads_ended,
            server: measured.server_per_request(),
            clients: measured.clients_per_request(),
            resident_bytes: measured.server.resident_bytes,
            bytes_per_connection: measured.grown_bytes as f64 / connections as f64,
            percentiles: percentiles(&measured.clients.latencies),
            endpoints: endpoints(&measured.clients),
            unsent: measured.clients.unsent,
            waiting: measured.clients.waiting,
            refused: measured.clients.refused,
            time_wait: measured.clients.time_wait,
            clients_busy_percent: busy.map(|busy| 100.0 * busy.clients),
            server_busy_percent: busy.map(|busy| 100.0 * busy.server),
            clients_are_the_limit: busy.is_some_and(Busy::generator_is_the_limit),
            capacity: None,
            worker_shares: measured.worker_shares(),
        }
    }

    /// A figure, if it could be measured.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        self.figures.get(figure.key()).copied().flatten()
    }
}

impl Comparison {
    fn new(outcome: &Outcome, names: &[String], system: usize) -> Self {
        let subject = if names.len() == 2 { "B" } else { &names[system] };
        Self {
            system: names[system].clone(),
            with: names[0].clone(),
            ratios: ratios(outcome, system, subject),
        }
    }

    /// The ratio of a figure.
    #[must_use]
    pub fn ratio(&self, figure: Figure) -> Option<&Ratio> {
        self.ratios.get(figure.key())
    }
}

/// The logarithms of the ratios of a figure of a server to that of the first
/// one, grouped by restart, as they were before they were written down.
#[must_use]
pub fn log_ratios(row: &Row, system: usize, figure: Figure) -> Vec<Vec<f64>> {
    let mut restarts: Vec<Vec<f64>> = Vec::new();
    for sample in &row.samples {
        restarts.resize_with(restarts.len().max(sample.restart + 1), Vec::new);
        let value =
            |system: usize| sample.systems.get(system)?.as_ref()?.get(figure.key()).copied().flatten();
        let ratio = value(system).zip(value(0)).map(|(value, first)| (value / first).ln());
        restarts[sample.restart].extend(ratio.filter(|ratio| ratio.is_finite()));
    }
    restarts
}

fn ratios(outcome: &Outcome, system: usize, subject: &str) -> BTreeMap<String, Ratio> {
    let ratio = |figure: Figure| (figure.key().to_owned(), Ratio::new(outcome, system, subject, figure));
    Figure::ALL.into_iter().map(ratio).collect()
}

fn samples(outcome: &Outcome) -> Vec<Sample> {
    let sample = |restart: usize, round: &Round| Sample {
        restart,
        systems: round.figures.iter().map(|figures| figures.map(|figures| by_key(Some(figures)))).collect(),
    };
    let of_restart = |(restart, rounds): (usize, &Vec<Round>)| {
        rounds.iter().map(|round| sample(restart, round)).collect::<Vec<_>>()
    };
    outcome.restarts.iter().enumerate().flat_map(of_restart).collect()
}

fn endpoints(slice: &Slice) -> BTreeMap<String, Vec<Percentile>> {
    let endpoints = Endpoint::ALL.into_iter().zip(&slice.by_endpoint);
    endpoints.map(|(endpoint, latencies)| (endpoint.name().to_owned(), percentiles(latencies))).collect()
}

/// The latencies at ever higher percentiles, as far as there are replies for
/// them.
fn percentiles(latencies: &Histogram<u64>) -> Vec<Percentile> {
    let value = |&percent: &f64| Percentile {
        percent,
        us: latencies.value_at_quantile(percent / 100.0) as f64 / 1e3,
    };
    let known = |percent: &&f64| latencies.len() as f64 * (1.0 - **percent / 100.0) >= 1.0;
    PERCENTS.iter().filter(known).map(value).collect()
}

const PERCENTS: [f64; 19] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.9, 99.95,
    99.99, 99.999,
];
