//! What is read from the machine; what it does not tell is missing.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use io_uring_06::IoUring;
use rustix::process::{Resource, getrlimit};

use super::nic::{self, Nic};
use crate::cores::Cores;
use crate::environment::DisturbanceMeter;

/// The machine as it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// Whether a ring can be set up; if not, why, and what to do.
    pub ring: Result<(), (String, String)>,
    /// The limit on locked memory in bytes; none is unlimited.
    pub memlock: Option<u64>,
    /// Whether this user is above that limit.
    pub is_root: bool,
    /// The limit on open descriptors that a process may raise its own to.
    pub descriptors: Option<u64>,
    /// How many connections may wait to be accepted.
    pub backlog: Option<u64>,
    /// The first and the last port of outgoing connections.
    pub ports: Option<(u64, u64)>,
    /// How many connections the kernel tracks, and how many it can, if it does.
    pub conntrack: Option<(u64, u64)>,
    /// The cores that this process may use.
    pub cores: Cores,
    /// The cores that the machine has.
    pub cores_online: usize,
    /// How many cores' worth of time the control group may use.
    pub quota: Option<f64>,
    /// Whether two hardware threads share a core.
    pub smt: Option<bool>,
    /// How the clock of the first core is governed.
    pub governor: Option<String>,
    /// Programs that want to run, on average over a minute.
    pub load: Option<f64>,
    /// The share of time that the hypervisor gave to somebody else, in percent,
    /// while it was looked.
    pub steal_percent: Option<f64>,
    /// Whether irqbalance moves interrupts about.
    pub irqbalance: bool,
    /// The network cards.
    pub nics: Vec<Nic>,
}

impl Facts {
    /// Reads everything; takes half a second, to see the steal.
    #[must_use]
    pub fn read() -> Self {
        let steal = DisturbanceMeter::start();
        thread::sleep(STEAL_SEEN_FOR);
        let pair = |text: String| {
            let mut numbers = text.split_whitespace().filter_map(|word| word.parse().ok());
            Some((numbers.next()?, numbers.next()?))
        };
        Self {
            ring: ring(),
            memlock: getrlimit(Resource::Memlock).current,
            is_root: rustix::process::geteuid().is_root(),
            descriptors: getrlimit(Resource::Nofile).maximum,
            backlog: number("/proc/sys/net/core/somaxconn"),
            ports: text("/proc/sys/net/ipv4/ip_local_port_range").and_then(pair),
            conntrack: number("/proc/sys/net/netfilter/nf_conntrack_count")
                .zip(number("/proc/sys/net/netfilter/nf_conntrack_max")),
            cores: Cores::allowed().unwrap_or_else(|_| Cores::from_iter([])),
            cores_online: thread::available_parallelism().map_or(1, usize::from).max(online()),
            quota: quota(),
            smt: number("/sys/devices/system/cpu/smt/active").map(|active| active == 1),
            governor: text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load: text("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse().ok()),
            steal_percent: steal.disturbance().steal_percent,
            irqbalance: runs("irqbalance"),
            nics: nic::read_all(),
        }
    }
}

/// Sets up a ring and throws it away.
fn ring() -> Result<(), (String, String)> {
    match IoUring::new(RING_ENTRIES) {
        Ok(_) => Ok(()),
        Err(error) => {
            let told = corepool_os::ring::explain("io_uring", RING_ENTRIES, KERNEL_NEEDED, error);
            Err((told.reason, told.advice))
        }
    }
}

/// The quota of the innermost control group that has one, in either version.
fn quota() -> Option<f64> {
    let group = text("/proc/self/cgroup")?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_start_matches('/');
    let of_version_2 = text(format!("/sys/fs/cgroup/{path}/cpu.max")).and_then(|text| {
        let (quota, period) = text.split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    of_version_2.or_else(|| {
        let quota: f64 = text("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")?.parse().ok()?;
        let period: f64 = text("/sys/fs/cgroup/cpu/cpu.cfs_period_us")?.parse().ok()?;
        (quota > 0.0).then_some(quota / period)
    })
}

fn online() -> usize {
    let list = text("/sys/devices/system/cpu/online").and_then(|text| text.parse::<Cores>().ok());
    list.map_or(1, |cores| cores.len())
}

fn runs(name: &str) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| text(entry.path().join("comm"))).any(|command| command == name)
}

pub(super) fn number(path: impl AsRef<Path>) -> Option<u64> {
    text(path)?.parse().ok()
}

pub(super) fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

const STEAL_SEEN_FOR: Duration = Duration::from_millis(500);
const RING_ENTRIES: u32 = 1024;
const KERNEL_NEEDED: &str = "6.1";
