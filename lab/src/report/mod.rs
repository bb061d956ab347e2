//! What a run is told as: one [`Report`], written as JSON or shown as a
//! [`table`]; and the [`progress`] shown meanwhile.

pub mod progress;
pub mod table;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::comparison::{Measured, Outcome, Pair};
use crate::environment::Machine;
use crate::figures::{Figure, Figures};
use crate::generator::{Faults, Slice};
use crate::load::LoadPlan;
use crate::placement::Placement;
use crate::plan::Plan;
use crate::statistics::{Resamples, Verdict};

/// A finished comparison.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Where, with what, and on what it was run.
    pub environment: Environment,
    /// The server that the other is compared with.
    pub a: Side,
    /// The other server.
    pub b: Side,
    /// B over A for every figure, by [`Figure::key`].
    pub ratios: BTreeMap<&'static str, Ratio>,
    /// What was lost, if anything was; then there are no ratios.
    pub failure: Option<String>,
    /// Every clean pair, in the order in which they were run.
    pub samples: Vec<Sample>,
}

/// One slice of A and one of B, side by side in time.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// The restart that it belongs to, from 0 on.
    pub restart: usize,
    /// The figures of A, by [`Figure::key`].
    pub a: BTreeMap<&'static str, Option<f64>>,
    /// The figures of B, by [`Figure::key`].
    pub b: BTreeMap<&'static str, Option<f64>>,
}

/// What a comparison must be read with.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Environment {
    /// The machine and the software.
    #[serde(flatten)]
    pub machine: Machine,
    /// Who ran where.
    pub placement: Placement,
    /// The share of all cores' time that the hypervisor gave to somebody else
    /// during the run, in percent.
    pub steal_percent: Option<f64>,
    /// What was run.
    pub plan: PlanSummary,
    /// What all random choices were made from.
    pub seed: u64,
}

/// The plan as it was run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct PlanSummary {
    /// Connections to each server.
    pub connections: usize,
    /// Bytes of a request and of its reply.
    pub bytes: usize,
    /// Requests before a connection is closed and opened again; 0 for never.
    pub requests_per_connection: u64,
    /// Workers of each server.
    pub workers: usize,
    /// The limit of the framework's workers.
    pub limit: Option<u32>,
    /// The placement policy of the framework.
    pub placement_policy: Option<String>,
    /// Pairs of slices.
    pub pairs: usize,
    /// How long a slice was.
    pub slice_seconds: f64,
    /// How often both servers were started.
    pub restarts: usize,
}

/// One of the servers. Figures are missing if no slice was clean.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// Its name.
    pub name: &'static str,
    /// What drove its sockets.
    pub driver: String,
    /// The figures over all clean slices, by [`Figure::key`].
    #[serde(flatten)]
    pub figures: BTreeMap<&'static str, Option<f64>>,
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
}

/// B over A.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Ratio {
    /// The median over all pairs.
    pub median: Option<f64>,
    /// The lower end of the 95 % interval.
    pub low: Option<f64>,
    /// The upper end of the 95 % interval.
    pub high: Option<f64>,
    /// The lower end of the 99 % interval.
    pub low_99: Option<f64>,
    /// The upper end of the 99 % interval.
    pub high_99: Option<f64>,
    /// The pairs that it is made from.
    pub pairs: usize,
    /// What it means.
    pub verdict: String,
}

impl Report {
    /// Everything that is known after a comparison.
    #[must_use]
    pub fn new(plan: &Plan, outcome: &Outcome, machine: Machine, steal_percent: Option<f64>) -> Self {
        let [a, b] = &outcome.sides;
        let failure = outcome.failure();
        let ratio = |figure: Figure| (figure.key(), Ratio::new(outcome, figure, failure.as_deref()));
        Self {
            environment: Environment {
                machine,
                placement: plan.placement.clone(),
                steal_percent,
                plan: PlanSummary::new(plan),
                seed: plan.seed,
            },
            a: Side::new(plan.systems[0].name, a),
            b: Side::new(plan.systems[1].name, b),
            ratios: Figure::ALL.into_iter().map(ratio).collect(),
            failure,
            samples: samples(outcome),
        }
    }
}

impl PlanSummary {
    fn new(plan: &Plan) -> Self {
        Self {
            connections: plan.workload.connections,
            bytes: plan.workload.bytes,
            requests_per_connection: plan.workload.requests_per_connection,
            workers: plan.serve.workers,
            limit: plan.serve.limit,
            placement_policy: plan.serve.placement.map(|policy| policy.to_string()),
            pairs: plan.pairs,
            slice_seconds: plan.slice.as_secs_f64(),
            restarts: plan.restarts,
        }
    }
}

impl Side {
    fn new(name: &'static str, measured: &Measured) -> Self {
        Self {
            name,
            driver: measured.driver.clone(),
            figures: by_key(measured.figures()),
            requests: measured.clients.requests,
            errors: measured.failed.faults.total(),
            faults: measured.failed.faults.clone(),
            slices: measured.slices,
            failed_slices: measured.failed_slices,
            threads_ended: measured.server.threads_ended,
        }
    }
}

impl Ratio {
    fn new(outcome: &Outcome, figure: Figure, failure: Option<&str>) -> Self {
        let estimate = match failure {
            Some(_) => None,
            None => outcome.estimate(figure, Resamples::Thorough),
        };
        let verdict = match (failure, &estimate) {
            (Some(failure), _) => format!("failed: {failure}"),
            (None, Some(estimate)) => Verdict::of(estimate).words(figure, estimate),
            (None, None) => "not measured".to_owned(),
        };
        Self {
            median: estimate.map(|estimate| estimate.ratio),
            low: estimate.map(|estimate| estimate.interval_95.0),
            high: estimate.map(|estimate| estimate.interval_95.1),
            low_99: estimate.map(|estimate| estimate.interval_99.0),
            high_99: estimate.map(|estimate| estimate.interval_99.1),
            pairs: estimate.map_or(0, |estimate| estimate.pairs),
            verdict,
        }
    }
}

/// A finished load.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LoadReport {
    /// The server.
    pub address: String,
    /// The machine and the software of the clients.
    pub environment: Machine,
    /// Connections.
    pub connections: usize,
    /// Bytes of a request and of its reply.
    pub bytes: usize,
    /// Requests before a connection is closed and opened again; 0 for never.
    pub requests_per_connection: u64,
    /// Client threads asked for.
    pub threads: usize,
    /// The figures, by [`Figure::key`]; missing without a single reply.
    #[serde(flatten)]
    pub figures: BTreeMap<&'static str, Option<f64>>,
    /// Requests with the right reply.
    pub requests: u64,
    /// Requests lost.
    pub errors: u64,
    /// What happened to them.
    pub faults: Faults,
}

impl LoadReport {
    /// Everything that is known after a load.
    #[must_use]
    pub fn new(plan: &LoadPlan, whole: &Slice, machine: Machine) -> Self {
        let mut figures = by_key(Figures::new(whole, Default::default()));
        for unknown in [Figure::ServerCpu, Figure::Switches] {
            figures.remove(unknown.key());
        }
        Self {
            address: plan.address.to_string(),
            environment: machine,
            connections: plan.workload.connections,
            bytes: plan.workload.bytes,
            requests_per_connection: plan.workload.requests_per_connection,
            threads: plan.threads,
            figures,
            requests: whole.requests,
            errors: whole.faults.total(),
            faults: whole.faults.clone(),
        }
    }
}

fn samples(outcome: &Outcome) -> Vec<Sample> {
    let of_restart = |(restart, pairs): (usize, &Vec<Pair>)| {
        let sample = |pair: &Pair| Sample { restart, a: by_key(Some(pair.a)), b: by_key(Some(pair.b)) };
        pairs.iter().map(sample).collect::<Vec<_>>()
    };
    let restarts = outcome.restarts.iter().enumerate();
    restarts.flat_map(of_restart).collect()
}

fn by_key(figures: Option<Figures>) -> BTreeMap<&'static str, Option<f64>> {
    Figure::ALL
        .into_iter()
        .map(|figure| (figure.key(), figures.map(|figures| figures.value(figure))))
        .collect()
}
