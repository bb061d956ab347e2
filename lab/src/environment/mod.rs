//! The machine and the software that a result belongs to, and what disturbed it.

mod disturbance;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use procfs::Current;
use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

use crate::accounting::counters;
use crate::cores::Cores;
use crate::placement::Topology;

pub use disturbance::{Disturbance, DisturbanceMeter};

/// What a result must be read with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Machine {
    /// The CPU model.
    pub cpu: String,
    /// The cores that this process may use.
    pub cores: Cores,
    /// How they belong together.
    #[serde(default)]
    pub topology: Topology,
    /// Whether a hypervisor runs this machine.
    #[serde(default)]
    pub is_virtual: bool,
    /// What decides on the clock of the cores.
    #[serde(default = "unknown")]
    pub governor: String,
    /// What the kernel does about each weakness of the CPU that it has.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// Memory that may be locked, in bytes, or `unlimited`.
    #[serde(default = "unknown")]
    pub memlock: String,
    /// What cannot be counted here, and why.
    #[serde(default)]
    pub absent_counters: BTreeMap<String, String>,
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
        let info = procfs::CpuInfo::current().ok();
        let cores = Cores::allowed().unwrap_or_else(|_| Cores::from_iter([]));
        Self {
            cpu: info.as_ref().and_then(|info| Some(info.model_name(0)?.to_owned())).unwrap_or_else(unknown),
            topology: Topology::look(&cores),
            cores,
            is_virtual: info.and_then(|info| Some(info.flags(0)?.contains(&"hypervisor"))).unwrap_or(false),
            governor: setting("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            mitigations: mitigations(),
            memlock: getrlimit(Resource::Memlock)
                .current
                .map_or_else(|| "unlimited".to_owned(), |bytes| bytes.to_string()),
            absent_counters: counters::absent(),
            kernel: setting("/proc/sys/kernel/osrelease"),
            congestion_control: setting("/proc/sys/net/ipv4/tcp_congestion_control"),
            versions: versions(LOCK_FILE),
            commit: commit(),
        }
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The weaknesses that this CPU has.
fn mitigations() -> BTreeMap<String, String> {
    let folder = fs::read_dir("/sys/devices/system/cpu/vulnerabilities").into_iter().flatten();
    folder
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let state = fs::read_to_string(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, state.trim().to_owned()))
        })
        .filter(|(_, state)| state != "Not affected")
        .collect()
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

const LOCK_FILE: &str = include_str!("../../../Cargo.lock");
const PACKAGES: [&str; 7] = ["corepool-lab", "compio", "glommio", "io-uring", "monoio", "smol", "tokio"];

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
}
