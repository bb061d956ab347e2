//! The options of a comparison as the user gives them, on the command line or
//! in a file. Nothing is checked here but their names and types.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::generator::Slo;
use crate::placement::{Mode, Wanted};
use crate::serve::admitted::Admitted;
use crate::serve::served_by::ServedBy;
use crate::serve::when_full::WhenFull;
use crate::statistics::Precision;
use crate::workload::WorkloadOptions;

/// A comparison as the user asks for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The servers: the first one, and those that are compared with it.
    pub systems: Vec<String>,
    /// What the clients do.
    pub workload: WorkloadOptions,
    /// What the servers are told.
    pub servers: ServerOptions,
    /// Who runs where.
    pub placement: PlacementOptions,
    /// How much is measured.
    pub statistics: StatisticsOptions,
    /// The executable that serves, which is this one unless a test says else.
    #[serde(skip)]
    pub executable: Option<PathBuf>,
}

/// What the servers are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Workers of each server, 1 to 256.
    pub workers: usize,
    /// How many connections a worker of the framework serves at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// What sets that limit, if it is no number: `adaptive:8..512`, `unlimited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admitted>,
    /// What a permit of the framework is for: `connection` or `request`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Where the framework puts a new connection, such as `even`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ServedBy>,
    /// What the framework does with a connection when every worker is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<WhenFull>,
}

/// Who runs where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PlacementOptions {
    /// How to choose the cores: `split` if nothing is said, `shared` or `one-cpu`.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Cores of the servers; chosen if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cores: Option<Cores>,
    /// Cores of the clients; chosen if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cores: Option<Cores>,
}

/// How much is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct StatisticsOptions {
    /// Pairs of slices; with more than two servers, rounds of a slice of each.
    pub pairs: usize,
    /// How long a slice is, in seconds, 0.01 to 60.
    pub slice_seconds: f64,
    /// How often all servers are started anew, 2 to 100.
    pub restarts: usize,
    /// Go on after the last pair until the interval is this narrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Precision>,
    /// Stop after so many seconds, 1 to 86,400; a run that goes on until its
    /// interval is narrow stops after ten minutes if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_seconds: Option<f64>,
    /// Whether the first server is run against itself before.
    pub noise: bool,
    /// Look also for the highest rate at which each server keeps this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// What all random choices are made from; random itself if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { workers: 1, limit: None, admission: None, scope: None, policy: None, overflow: None }
    }
}

impl Default for StatisticsOptions {
    fn default() -> Self {
        Self {
            pairs: 48,
            slice_seconds: 0.3,
            restarts: 12,
            until: None,
            budget_seconds: None,
            noise: true,
            slo: None,
            seed: None,
        }
    }
}

impl PlacementOptions {
    pub(super) fn wanted(self) -> Wanted {
        let Self { mode, server_cores, client_cores } = self;
        Wanted { mode, server_cores, client_cores }
    }
}
