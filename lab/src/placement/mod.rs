//! Who runs where: the cores of the servers under test and of the clients.

pub mod topology;

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde::{Deserialize, Serialize};

use crate::cores::Cores;

pub use topology::Topology;

/// How servers and clients share the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// A physical core for each worker, and others for the clients; neither uses the
    /// hyperthreads beside the other, and all are on one NUMA node if it is large
    /// enough. Refused where there are too few.
    #[default]
    Split,
    /// Workers and clients together on all cores.
    Shared,
    /// Everything on one core.
    OneCpu,
    /// As the user said.
    ByHand,
}

/// Cores of the servers and of the clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Placement {
    /// How they were chosen.
    #[serde(default)]
    pub mode: Mode,
    /// Workers are pinned to these in turn; all servers use the same.
    pub server_cores: Cores,
    /// One client thread is pinned to each of these.
    pub client_cores: Cores,
    /// What the reader of a result must know about it, if anything.
    pub warnings: Vec<String>,
    /// Whether clients and servers have a core in common.
    pub shared: bool,
}

/// What the user says about it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Wanted {
    /// How to choose; split if nothing is said.
    pub mode: Option<Mode>,
    /// Cores of the servers; chosen if there are none.
    pub server_cores: Option<Cores>,
    /// Cores of the clients; chosen if there are none.
    pub client_cores: Option<Cores>,
}

impl Placement {
    /// Chooses cores for so many workers, unless the user did.
    ///
    /// # Errors
    /// When there are too few for what is wanted, a core was asked for that is not
    /// there, or both a way to choose and cores are given.
    pub fn choose(topology: &Topology, workers: usize, wanted: &Wanted) -> Result<Self, PlacementError> {
        let allowed = topology.all_threads();
        if allowed.is_empty() {
            return Err(PlacementError::NoCores);
        }
        let by_hand = wanted.server_cores.is_some() || wanted.client_cores.is_some();
        let (mode, server_cores, client_cores) = match (wanted.mode, by_hand) {
            (None | Some(Mode::ByHand), true) => {
                let (servers, clients) = by_hand_cores(topology, &allowed, workers, wanted)?;
                (Mode::ByHand, servers, clients)
            }
            (Some(mode), true) => return Err(PlacementError::Contradiction(mode)),
            (Some(Mode::ByHand), false) => return Err(PlacementError::NothingByHand),
            (None | Some(Mode::Split), false) => {
                let (servers, clients) = split(topology, workers)?;
                (Mode::Split, servers, clients)
            }
            (Some(Mode::Shared), false) => {
                let clients = allowed.iter().take(workers.max(1)).collect();
                (Mode::Shared, allowed, clients)
            }
            (Some(Mode::OneCpu), false) => (Mode::OneCpu, first(&allowed), first(&allowed)),
        };
        Ok(Self::new(mode, server_cores, client_cores, workers, topology))
    }

    fn new(
        mode: Mode,
        server_cores: Cores,
        client_cores: Cores,
        workers: usize,
        topology: &Topology,
    ) -> Self {
        let shared = server_cores.overlaps(&client_cores);
        let mut warnings = Vec::new();
        if shared {
            warnings.push("shared: clients run on the server's cores".to_owned());
        } else if topology.share_a_core(&server_cores, &client_cores) {
            warnings.push("shared: clients run on hyperthreads of the server's cores".to_owned());
        }
        if workers > server_cores.len() {
            warnings.push(format!(
                "crowded: {workers} workers run on {} core{}",
                server_cores.len(),
                if server_cores.len() == 1 { "" } else { "s" }
            ));
        }
        let all: Cores = server_cores.iter().chain(client_cores.iter()).collect();
        if topology.nodes_of(&all) > 1 {
            warnings.push("spread: servers and clients are on more than one NUMA node".to_owned());
        }
        Self { mode, server_cores, client_cores, warnings, shared }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, server_cores, client_cores, .. } = self;
        write!(f, "{mode}: servers on core {server_cores}, clients on core {client_cores}")
    }
}

impl Mode {
    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Shared => "shared",
            Self::OneCpu => "one-cpu",
            Self::ByHand => "by-hand",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        Self::deserialize(IntoDeserializer::<WordError>::into_deserializer(text))
    }
}

/// Cores that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// A core that the affinity mask leaves out, or that does not exist.
    #[error("{argument} names core {core}, but this process may use only {allowed}")]
    NotAllowed {
        /// The option that named it.
        argument: &'static str,
        /// The core.
        core: usize,
        /// What is allowed.
        allowed: Cores,
    },
    /// The affinity mask is empty.
    #[error("this process may use no core at all")]
    NoCores,
    /// Workers and clients cannot be kept apart.
    #[error(
        "the placement split needs {needed} physical cores for {workers} worker{s} and the clients, and there \
         {are} {cores}; lower --workers, or let them share cores with --where shared or --where one-cpu",
        s = if *workers == 1 { "" } else { "s" },
        are = if *cores == 1 { "is" } else { "are" },
    )]
    TooFewCores {
        /// One for each worker and one for the clients.
        needed: usize,
        /// The workers.
        workers: usize,
        /// The physical cores that this process may use.
        cores: usize,
    },
    /// Both a way to choose and what is chosen.
    #[error("--where {0} chooses the cores; leave out --server-cores and --client-cores")]
    Contradiction(Mode),
    /// By hand, and no core named.
    #[error("--where by-hand needs --server-cores or --client-cores")]
    NothingByHand,
}

/// Checks that an option names only cores that this process may use.
pub(crate) fn check_allowed(
    argument: &'static str,
    wanted: &Cores,
    allowed: &Cores,
) -> Result<(), PlacementError> {
    match wanted.iter().find(|&core| !allowed.contains(core)) {
        Some(core) => Err(PlacementError::NotAllowed { argument, core, allowed: allowed.clone() }),
        None => Ok(()),
    }
}

/// A core for each worker, and as many for the clients if there are so many, on the
/// first node that has enough for one client, or else on all.
fn split(topology: &Topology, workers: usize) -> Result<(Cores, Cores), PlacementError> {
    let needed = workers + 1;
    let node = topology.nodes().find(|node| node.len() >= needed);
    let cores = node.unwrap_or(&topology.cores);
    if cores.len() < needed {
        return Err(PlacementError::TooFewCores { needed, workers, cores: cores.len() });
    }
    let mut threads = cores.iter().filter_map(|core| core.cpus.iter().next());
    let servers = threads.by_ref().take(workers).collect();
    Ok((servers, threads.take(workers).collect()))
}

/// What the user did not choose is taken from the cores that are left, or from all if
/// none is.
fn by_hand_cores(
    topology: &Topology,
    allowed: &Cores,
    workers: usize,
    wanted: &Wanted,
) -> Result<(Cores, Cores), PlacementError> {
    let Wanted { server_cores, client_cores, .. } = wanted;
    for (argument, cores) in [("--server-cores", server_cores), ("--client-cores", client_cores)] {
        if let Some(cores) = cores {
            check_allowed(argument, cores, allowed)?;
        }
    }
    let left_by = |taken: &Option<Cores>| {
        let taken = taken.clone().unwrap_or_else(|| Cores::from_iter([]));
        let beside = |core: usize| topology.share_a_core(&taken, &Cores::from_iter([core]));
        let left: Cores = topology.first_threads().iter().filter(|&core| !beside(core)).collect();
        let left: Cores = left.iter().take(workers.max(1)).collect();
        if left.is_empty() { first(allowed) } else { left }
    };
    let servers = server_cores.clone().unwrap_or_else(|| left_by(client_cores));
    let clients = client_cores.clone().unwrap_or_else(|| left_by(server_cores));
    Ok((servers, clients))
}

fn first(cores: &Cores) -> Cores {
    cores.iter().take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::topology::PhysicalCore;
    use super::*;

    /// Cores with two hyperthreads each: 0 and 10, 1 and 11, and so on.
    fn hyperthreads(cores: usize, per_node: usize) -> Topology {
        let core = |core| PhysicalCore {
            cpus: Cores::from_iter([core, core + 10]),
            node: core / per_node,
            package: 0,
        };
        Topology { cores: (0..cores).map(core).collect() }
    }

    fn flat(cores: &str) -> Topology {
        Topology::flat(&cores.parse().unwrap())
    }

    fn choose(topology: &Topology, workers: usize, mode: Mode) -> Result<(String, String), PlacementError> {
        let wanted = Wanted { mode: Some(mode), ..Wanted::default() };
        let chosen = Placement::choose(topology, workers, &wanted)?;
        Ok((chosen.server_cores.to_string(), chosen.client_cores.to_string()))
    }

    fn by_hand(topology: &Topology, workers: usize, server: &str, client: &str) -> Placement {
        let list = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let wanted = Wanted { mode: None, server_cores: list(server), client_cores: list(client) };
        Placement::choose(topology, workers, &wanted).unwrap()
    }

    fn cores(server: &str, client: &str) -> (String, String) {
        (server.to_owned(), client.to_owned())
    }

    #[test]
    fn split_gives_each_worker_a_core_and_the_clients_others() {
        assert_eq!(choose(&flat("0-1"), 1, Mode::Split).unwrap(), cores("0", "1"));
        assert_eq!(choose(&flat("2-9"), 2, Mode::Split).unwrap(), cores("2,3", "4,5"));
        assert_eq!(choose(&flat("0-3"), 3, Mode::Split).unwrap(), cores("0,1,2", "3"));
    }

    #[test]
    fn split_leaves_the_hyperthreads_beside_a_worker_alone() {
        assert_eq!(choose(&hyperthreads(4, 4), 2, Mode::Split).unwrap(), cores("0,1", "2,3"));
        let error = choose(&hyperthreads(2, 2), 2, Mode::Split).unwrap_err();
        assert!(matches!(error, PlacementError::TooFewCores { needed: 3, cores: 2, .. }));
    }

    #[test]
    fn split_stays_on_one_node_if_it_is_large_enough() {
        let mut topology = hyperthreads(6, 2);
        topology.cores[0].node = 7;
        topology.cores.sort_by_key(|core| core.node);
        assert_eq!(choose(&topology, 1, Mode::Split).unwrap(), cores("2", "3"));
        let wanted = Wanted::default();
        let spread = Placement::choose(&topology, 3, &wanted).unwrap();
        assert_eq!(spread.warnings, ["spread: servers and clients are on more than one NUMA node"]);
    }

    #[test]
    fn too_few_cores_are_refused_with_a_way_out() {
        let error = choose(&flat("0-1"), 2, Mode::Split).unwrap_err().to_string();
        assert!(
            error.contains("needs 3 physical cores for 2 workers and the clients, and there are 2"),
            "{error}"
        );
        assert!(error.contains("--where shared"), "{error}");
        assert!(choose(&flat("5"), 1, Mode::Split).is_err());
    }

    #[test]
    fn shared_and_one_cpu_are_what_they_say_and_say_so() {
        assert_eq!(choose(&flat("0-3"), 2, Mode::Shared).unwrap(), cores("0,1,2,3", "0,1"));
        assert_eq!(choose(&flat("3-4"), 2, Mode::OneCpu).unwrap(), cores("3", "3"));
        let wanted = Wanted { mode: Some(Mode::OneCpu), ..Wanted::default() };
        let placement = Placement::choose(&flat("3-4"), 2, &wanted).unwrap();
        assert!(placement.shared);
        assert_eq!(
            placement.warnings,
            ["shared: clients run on the server's cores", "crowded: 2 workers run on 1 core"]
        );
    }

    #[test]
    fn what_the_user_chose_is_left_to_the_other_side() {
        let names = |placement: Placement| {
            cores(&placement.server_cores.to_string(), &placement.client_cores.to_string())
        };
        assert_eq!(names(by_hand(&flat("0-1"), 1, "1", "")), cores("1", "0"));
        assert_eq!(names(by_hand(&flat("0-1"), 1, "", "0")), cores("1", "0"));
        assert_eq!(names(by_hand(&hyperthreads(3, 3), 1, "0", "")), cores("0", "1"));
        let all = by_hand(&flat("0-1"), 2, "0-1", "");
        assert!(all.shared);
        assert_eq!(names(all), cores("0,1", "0"));
    }

    #[test]
    fn hyperthreads_of_one_core_are_no_separation() {
        let placement = by_hand(&hyperthreads(2, 2), 1, "0", "10");
        assert_eq!(placement.warnings, ["shared: clients run on hyperthreads of the server's cores"]);
    }

    #[test]
    fn contradictions_and_cores_outside_of_the_mask_are_named() {
        let both =
            Wanted { mode: Some(Mode::Shared), client_cores: Some("0".parse().unwrap()), server_cores: None };
        let error = Placement::choose(&flat("0-1"), 1, &both).unwrap_err().to_string();
        assert!(error.starts_with("--where shared chooses the cores"), "{error}");
        let outside = Wanted { client_cores: Some("1,7".parse().unwrap()), ..Wanted::default() };
        let error = Placement::choose(&flat("0-1"), 1, &outside).unwrap_err().to_string();
        assert_eq!(error, "--client-cores names core 7, but this process may use only 0,1");
        assert!(choose(&flat("0-1"), 1, Mode::ByHand).is_err());
        assert!("apart".parse::<Mode>().unwrap_err().to_string().contains("one-cpu"));
    }
}
