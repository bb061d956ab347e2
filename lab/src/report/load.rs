//! A finished load, told as data.

use serde::Serialize;

use super::{Values, by_key};
use crate::environment::Machine;
use crate::figures::{Figure, Figures};
use crate::generator::{Capacity, Faults, Slice};
use crate::load::LoadPlan;
use crate::workload::WorkloadOptions;

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
    pub figures: Values,
    /// Requests with the right reply.
    pub requests: u64,
    /// Requests that were planned and could not be sent in time.
    pub unsent: u64,
    /// Connections that waited for their first reply until the end.
    pub waiting: usize,
    /// Connections that a full server closed instead of serving them.
    pub refused: u64,
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
            unsent: whole.unsent,
            waiting: whole.waiting,
            refused: whole.refused,
            errors: whole.faults.total(),
            faults: whole.faults.clone(),
        }
    }
}

/// The highest rate that keeps a promise, told as data.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CapacityReport {
    /// The server.
    pub address: String,
    /// The machine and the software of the clients.
    pub environment: Machine,
    /// What the clients did.
    pub workload: WorkloadOptions,
    /// Client threads asked for.
    pub threads: usize,
    /// What was found.
    #[serde(flatten)]
    pub capacity: Capacity,
}

impl CapacityReport {
    /// Everything that is known after a search.
    #[must_use]
    pub fn new(plan: &LoadPlan, capacity: Capacity, machine: Machine) -> Self {
        Self {
            address: plan.address.to_string(),
            environment: machine,
            workload: plan.workload.clone().into(),
            threads: plan.threads,
            capacity,
        }
    }
}
