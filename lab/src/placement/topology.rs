//! How the CPUs of this machine belong together: hyperthreads of a core, cores of
//! a NUMA node.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cores::Cores;

/// The CPUs that this process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Topology {
    /// The physical cores, those of one NUMA node after those of another.
    pub cores: Vec<PhysicalCore>,
}

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PhysicalCore {
    /// Its CPUs: hyperthreads, if there is more than one.
    pub cpus: Cores,
    /// Its NUMA node.
    pub node: usize,
    /// Its socket.
    pub package: usize,
}

impl Topology {
    /// Looks at this machine. Where it does not say how its CPUs belong together, each is
    /// taken for a core.
    #[must_use]
    pub fn look(allowed: &Cores) -> Self {
        Self::read(Path::new("/sys/devices/system/cpu"), allowed)
    }

    /// So many CPUs on cores of their own, all on one node.
    #[must_use]
    pub fn flat(allowed: &Cores) -> Self {
        let core = |cpu| PhysicalCore { cpus: Cores::from_iter([cpu]), node: 0, package: 0 };
        Self { cores: allowed.iter().map(core).collect() }
    }

    /// The first CPU of each physical core.
    #[must_use]
    pub fn first_threads(&self) -> Cores {
        self.cores.iter().filter_map(|core| core.cpus.iter().next()).collect()
    }

    /// Every CPU, the first of each core before the hyperthreads beside it.
    #[must_use]
    pub fn all_threads(&self) -> Cores {
        let most = self.cores.iter().map(|core| core.cpus.len()).max().unwrap_or(0);
        let threads =
            (0..most).flat_map(|index| self.cores.iter().filter_map(move |core| core.cpus.iter().nth(index)));
        threads.collect()
    }

    /// Whether two lists have a physical core in common.
    #[must_use]
    pub fn share_a_core(&self, one: &Cores, other: &Cores) -> bool {
        self.cores.iter().any(|core| core.cpus.overlaps(one) && core.cpus.overlaps(other))
    }

    /// On how many NUMA nodes these are.
    #[must_use]
    pub fn nodes_of(&self, cpus: &Cores) -> usize {
        let mut nodes: Vec<_> =
            self.cores.iter().filter(|core| core.cpus.overlaps(cpus)).map(|core| core.node).collect();
        nodes.dedup();
        nodes.len()
    }

    /// The cores of each node.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &[PhysicalCore]> {
        self.cores.chunk_by(|one, next| one.node == next.node)
    }

    fn read(folder: &Path, allowed: &Cores) -> Self {
        let mut cores: Vec<PhysicalCore> = Vec::new();
        for cpu in allowed.iter() {
            let folder = folder.join(format!("cpu{cpu}"));
            let text = |file: &str| fs::read_to_string(folder.join("topology").join(file)).ok();
            let siblings = text("thread_siblings_list").and_then(|list| list.trim().parse::<Cores>().ok());
            let siblings = siblings.unwrap_or_else(|| Cores::from_iter([cpu]));
            if cores.iter().any(|core| core.cpus.contains(cpu)) {
                continue;
            }
            cores.push(PhysicalCore {
                cpus: siblings.iter().filter(|&sibling| allowed.contains(sibling)).collect(),
                node: node(&folder),
                package: text("physical_package_id").and_then(|id| id.trim().parse().ok()).unwrap_or(0),
            });
        }
        cores.sort_by_key(|core| core.node);
        Self { cores }
    }
}

/// The node of a CPU, which is named by a link in its folder.
fn node(cpu: &Path) -> usize {
    let entries = fs::read_dir(cpu).into_iter().flatten().filter_map(Result::ok);
    let number = |name: String| name.strip_prefix("node")?.parse().ok();
    entries.filter_map(|entry| number(entry.file_name().into_string().ok()?)).next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two cores of two hyperthreads, numbered as Linux does.
    fn machine() -> (tempfile::Folder, Topology) {
        let folder = tempfile::Folder::new();
        for cpu in 0..8_usize {
            let (core, node) = (cpu % 4, cpu % 4 / 2);
            let path = folder.path().join(format!("cpu{cpu}"));
            fs::create_dir_all(path.join("topology")).unwrap();
            fs::create_dir(path.join(format!("node{node}"))).unwrap();
            fs::write(path.join("topology/thread_siblings_list"), format!("{core},{}\n", core + 4)).unwrap();
            fs::write(path.join("topology/physical_package_id"), format!("{node}\n")).unwrap();
        }
        let topology = Topology::read(folder.path(), &"0-7".parse().unwrap());
        (folder, topology)
    }

    #[test]
    fn hyperthreads_belong_to_one_core_and_cores_to_a_node() {
        let (_folder, topology) = machine();
        assert_eq!(topology.first_threads().to_string(), "0,1,2,3");
        assert_eq!(topology.all_threads().to_string(), "0,1,2,3,4,5,6,7");
        assert_eq!(topology.nodes().map(<[_]>::len).collect::<Vec<_>>(), [2, 2]);
        let cores = |text: &str| text.parse::<Cores>().unwrap();
        assert!(topology.share_a_core(&cores("0"), &cores("4")));
        assert!(!topology.share_a_core(&cores("0,4"), &cores("1,5")));
        assert_eq!((topology.nodes_of(&cores("0,1")), topology.nodes_of(&cores("0,2"))), (1, 2));
    }

    #[test]
    fn only_what_is_allowed_is_there() {
        let (folder, _) = machine();
        let topology = Topology::read(folder.path(), &"1,4-5".parse().unwrap());
        let cpus: Vec<_> = topology.cores.iter().map(|core| core.cpus.to_string()).collect();
        assert_eq!(cpus, ["1,5", "4"]);
    }

    #[test]
    fn a_machine_that_says_nothing_has_a_core_for_each_cpu() {
        let allowed = "2-4".parse().unwrap();
        assert_eq!(Topology::read(Path::new("/none"), &allowed), Topology::flat(&allowed));
        assert!(!Topology::look(&Cores::allowed().unwrap()).cores.is_empty());
    }

    /// A folder that is gone with the test.
    mod tempfile {
        use std::fs;
        use std::path::{Path, PathBuf};
        use std::sync::atomic::{AtomicUsize, Ordering};

        pub(super) struct Folder(PathBuf);

        impl Folder {
            pub(super) fn new() -> Self {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                let number = NEXT.fetch_add(1, Ordering::Relaxed);
                let name = format!("corepool-lab-topology-{}-{number}", std::process::id());
                let path = std::env::temp_dir().join(name);
                fs::create_dir(&path).unwrap();
                Self(path)
            }

            pub(super) fn path(&self) -> &Path {
                &self.0
            }
        }

        impl Drop for Folder {
            fn drop(&mut self) {
                fs::remove_dir_all(&self.0).unwrap();
            }
        }
    }
}
