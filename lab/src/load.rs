//! `corepool-lab load`: the generator alone, against any echo server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::cores::Cores;
use crate::descriptors;
use crate::generator::search::{Step, capacity};
use crate::generator::{Capacity, Clients, Slice, Slo};
use crate::placement::check_allowed;
use crate::plan::{PlanError, within};
use crate::workload::{Workload, WorkloadOptions};

/// The options of a load as the user gives them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The server.
    pub address: SocketAddr,
    /// What the clients do.
    pub workload: WorkloadOptions,
    /// Client threads, 1 to 256; no more than there are connections are used.
    pub threads: usize,
    /// Find the highest rate that keeps this, instead of loading for so long.
    pub slo: Option<Slo>,
    /// How long, in seconds, 0.1 to 86,400.
    pub seconds: f64,
    /// The cores that the threads are pinned to, in turn; not pinned if there
    /// are none.
    pub cores: Option<Cores>,
}

impl LoadOptions {
    /// The usual load on a server.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            workload: WorkloadOptions::default(),
            threads: 1,
            seconds: 5.0,
            slo: None,
            cores: None,
        }
    }
}

/// A load that can be run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadPlan {
    /// The server.
    pub address: SocketAddr,
    /// What the clients do.
    pub workload: Workload,
    /// Client threads.
    pub threads: usize,
    /// Where they run; anywhere if empty.
    pub cores: Cores,
    /// What has to be kept at the highest rate, if that is looked for.
    pub slo: Option<Slo>,
    /// It runs in so many slices, between which progress is shown.
    pub slices: u32,
    /// How long a slice is.
    pub slice: Duration,
}

impl LoadPlan {
    /// Checks the options.
    ///
    /// # Errors
    /// When a value is out of its range, a core is not ours, or there are not
    /// enough descriptors for so many connections.
    pub fn new(options: &LoadOptions) -> Result<Self, PlanError> {
        let threads = within("--threads", options.threads, 1..=256)?;
        let seconds = within("--seconds", options.seconds, 0.1..=86_400.0)?;
        let cores = options.cores.clone().unwrap_or_else(|| Cores::from_iter([]));
        check_allowed("--cores", &cores, &Cores::allowed()?)?;
        let mut workload = Workload::try_from(options.workload.clone())?;
        if options.slo.is_some() {
            workload.check_search()?;
        }
        workload.seed = fastrand::u64(..);
        descriptors::provide(workload.sockets())?;
        let slices = (seconds / SLICE_SECONDS).round().max(1.0) as u32;
        Ok(Self {
            address: options.address,
            workload,
            threads,
            cores,
            slo: options.slo,
            slices,
            slice: Duration::from_secs_f64(seconds / f64::from(slices)),
        })
    }
}

/// Runs the load; `watch` sees what is known after each slice. It stops early
/// when a slice has no reply at all.
///
/// # Errors
/// When the clients fail, for a reason that is not the server's; what was lost
/// is in the result.
pub fn load(plan: &LoadPlan, mut watch: impl FnMut(&Slice)) -> io::Result<Slice> {
    let clients = Clients::start(plan.threads, &plan.cores, &plan.workload)?;
    clients.connect(0, plan.address)?;
    let mut whole = Slice::empty();
    for _ in 0..plan.slices {
        let slice = clients.run(0, plan.slice)?;
        whole.append(&slice);
        watch(&whole);
        if slice.requests == 0 {
            break;
        }
    }
    Ok(whole)
}

/// Finds the highest rate that keeps a promise; `watch` sees each rate that is
/// tried.
///
/// # Errors
/// When the clients fail, or a request is lost.
pub fn search(plan: &LoadPlan, slo: Slo, watch: impl FnMut(&Step)) -> io::Result<Capacity> {
    let clients = Clients::start(plan.threads, &plan.cores, &plan.workload)?;
    clients.connect(0, plan.address)?;
    capacity(&clients, 0, slo, plan.slice, watch)
}

const SLICE_SECONDS: f64 = 0.5;
