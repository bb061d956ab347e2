//! The machine and the software that a result belongs to.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use procfs::{Current, CurrentSI};
use serde::{Deserialize, Serialize};

use crate::cores::Cores;

/// What a result must be read with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// The CPU model.
    pub cpu: String,
    /// The cores that this process may use.
    pub cores: Cores,
    /// The kernel's release.
    pub kernel: String,
    /// The kernel's TCP congestion control.
    pub congestion_control: String,
    /// Versions of this tool and of the runtimes under test.
    pub versions: BTreeMap<String, String>,
    /// The commit checked out where the executable was built, with `-dirty` if
    /// that has been changed since; none where there is no source or no git.
    pub commit: Option<String>,
}

impl Machine {
    /// Looks at this machine; what cannot be found is called `unknown`.
    #[must_use]
    pub fn look() -> Self {
        Self {
            cpu: procfs::CpuInfo::current()
                .ok()
                .and_then(|info| info.model_name(0).map(str::to_owned))
                .unwrap_or_else(unknown),
            cores: Cores::allowed().unwrap_or_else(|_| Cores::from_iter([])),
            kernel: setting("/proc/sys/kernel/osrelease"),
            congestion_control: setting("/proc/sys/net/ipv4/tcp_congestion_control"),
            versions: versions(LOCK_FILE),
            commit: commit(),
        }
    }
}

/// The time that the hypervisor gave to somebody else, from the start on.
#[derive(Clone, Debug)]
pub struct StealMeter {
    start: Option<Ticks>,
}

#[derive(Clone, Copy, Debug)]
struct Ticks {
    stolen: u64,
    all: u64,
}

impl StealMeter {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { start: Ticks::now() }
    }

    /// The stolen share of all cores' time since the start, in percent; none if
    /// the kernel does not tell.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        let (start, now) = (self.start?, Ticks::now()?);
        let share = |stolen: u64, all: u64| stolen as f64 * 100.0 / all.max(1) as f64;
        Some(share(now.stolen.saturating_sub(start.stolen), now.all.saturating_sub(start.all)))
    }
}

impl Ticks {
    fn now() -> Option<Self> {
        let total = procfs::KernelStats::current().ok()?.total;
        let stolen = total.steal?;
        let others = [total.iowait, total.irq, total.softirq].map(Option::unwrap_or_default);
        let known = total.user + total.nice + total.system + total.idle;
        Some(Self { stolen, all: known + others.iter().sum::<u64>() + stolen })
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn setting(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| unknown(), |text| text.trim().to_owned())
}

/// The versions of [`PACKAGES`] in a `Cargo.lock`.
fn versions(lock_file: &str) -> BTreeMap<String, String> {
    let quoted = |line: &str, key: &str| {
        let value = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        value.strip_suffix('"').map(str::to_owned)
    };
    let lines: Vec<_> = lock_file.lines().collect();
    lines
        .windows(2)
        .filter_map(|two| Some((quoted(two[0], "name")?, quoted(two[1], "version")?)))
        .filter(|(name, _)| PACKAGES.contains(&name.as_str()))
        .collect()
}

fn commit() -> Option<String> {
    let git = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR")])
        .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        .output()
        .ok()?;
    let text = String::from_utf8(git.stdout).ok()?;
    git.status.success().then(|| text.trim().to_owned())
}

const LOCK_FILE: &str = include_str!("../../Cargo.lock");
const PACKAGES: [&str; 4] = ["corepool-lab", "compio", "monoio", "tokio"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"mio\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\nsource = \"x\"\n";
        let found = versions(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found["tokio"], "1.54.1");
        assert_eq!(versions(LOCK_FILE).len(), PACKAGES.len());
    }

    #[test]
    fn this_machine_has_a_kernel_and_cores() {
        let machine = Machine::look();
        assert_ne!(machine.kernel, "unknown");
        assert!(!machine.cores.is_empty());
    }

    #[test]
    fn steal_is_a_share() {
        let percent = StealMeter::start().percent();
        assert!(percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
    }
}
