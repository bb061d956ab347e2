//! The highest rate of each server that keeps a promise about its latency.

use crate::generator::search::capacity;
use crate::generator::{Capacity, Clients, Slo};
use crate::plan::Plan;
use crate::servers::Server;

use super::ComparisonError;

/// Starts the servers one after the other, alone, and looks for the highest rate of
/// each.
pub(super) fn capacities(plan: &Plan, slo: Slo) -> Result<Vec<Capacity>, ComparisonError> {
    let cores = &plan.placement.client_cores;
    let clients = Clients::start(cores.len(), cores, &plan.workload)?;
    let find = |system: usize| {
        let server = Server::start(&plan.executable, &plan.systems[system].name, &plan.serve)?;
        clients.connect(0, server.address())?;
        let found = capacity(&clients, 0, slo, plan.slice, |_| ())?;
        clients.disconnect()?;
        Ok(found)
    };
    (0..plan.systems.len()).map(find).collect()
}
