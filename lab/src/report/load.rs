//! A finished load, told as data.

use serde::Serialize;

use super::{Values, by_key};
use crate::environment::Machine;
use crate::figures::{Figure, Figures};
use crate::generator::{Faults, Slice};
use crate::load::LoadPlan;

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
