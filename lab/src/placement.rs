//! Who runs where: the cores of the servers under test and of the clients.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cores::Cores;

/// Cores of the servers and of the clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Placement {
    /// Workers are pinned to these in turn; both servers use the same.
    pub server_cores: Cores,
    /// One client thread is pinned to each of these.
    pub client_cores: Cores,
    /// What the reader of a result must know about it, if anything.
    pub warnings: Vec<String>,
    /// Whether clients and servers have a core in common.
    pub shared: bool,
}

impl Placement {
    /// Chooses cores for so many workers out of the allowed ones, unless the
    /// user did.
    ///
    /// By default the workers get the first cores, one each, and the clients as
    /// many of those that follow; one core is kept for the clients if there are
    /// two at all. A single core is shared.
    ///
    /// # Errors
    /// When a core was asked for that is not allowed, or none is.
    pub fn choose(
        allowed: &Cores,
        workers: usize,
        server_cores: Option<Cores>,
        client_cores: Option<Cores>,
    ) -> Result<Self, PlacementError> {
        for (argument, cores) in [("--server-cores", &server_cores), ("--client-cores", &client_cores)] {
            if let Some(cores) = cores {
                check_allowed(argument, cores, allowed)?;
            }
        }
        if allowed.is_empty() {
            return Err(PlacementError::NoCores);
        }
        let server_cores = server_cores.unwrap_or_else(|| {
            let free = allowed
                .iter()
                .filter(|&core| !client_cores.as_ref().is_some_and(|taken| taken.contains(core)));
            let spare = usize::from(client_cores.is_none());
            let free: Vec<_> = free.collect();
            let most = free.len().saturating_sub(spare).max(1);
            let chosen: Cores = free.into_iter().take(workers.min(most)).collect();
            if chosen.is_empty() { first(allowed) } else { chosen }
        });
        let client_cores = client_cores.unwrap_or_else(|| {
            let free = allowed.iter().filter(|&core| !server_cores.contains(core));
            let chosen: Cores = free.take(workers.max(1)).collect();
            if chosen.is_empty() { first(allowed) } else { chosen }
        });
        Ok(Self::new(server_cores, client_cores, workers))
    }

    fn new(server_cores: Cores, client_cores: Cores, workers: usize) -> Self {
        let shared = server_cores.overlaps(&client_cores);
        let mut warnings = Vec::new();
        if shared {
            warnings.push("shared: clients run on the server's cores".to_owned());
        }
        if workers > server_cores.len() {
            warnings.push(format!(
                "crowded: {workers} workers run on {} core{}",
                server_cores.len(),
                if server_cores.len() == 1 { "" } else { "s" }
            ));
        }
        Self { server_cores, client_cores, warnings, shared }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "servers on core {}, clients on core {}", self.server_cores, self.client_cores)
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

fn first(cores: &Cores) -> Cores {
    cores.iter().take(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(allowed: &str, workers: usize, server: &str, client: &str) -> (String, String, bool) {
        let list = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let allowed = allowed.parse().unwrap();
        let placement = Placement::choose(&allowed, workers, list(server), list(client)).unwrap();
        (placement.server_cores.to_string(), placement.client_cores.to_string(), placement.shared)
    }

    fn cores(server: &str, client: &str, shared: bool) -> (String, String, bool) {
        (server.to_owned(), client.to_owned(), shared)
    }

    #[test]
    fn workers_get_the_first_cores_and_clients_as_many_of_the_others() {
        assert_eq!(chosen("0-1", 1, "", ""), cores("0", "1", false));
        assert_eq!(chosen("2-9", 2, "", ""), cores("2,3", "4,5", false));
        assert_eq!(chosen("0-3", 3, "", ""), cores("0,1,2", "3", false));
    }

    #[test]
    fn clients_keep_a_core_when_there_are_more_workers_than_cores() {
        assert_eq!(chosen("0-1", 2, "", ""), cores("0", "1", false));
    }

    #[test]
    fn what_the_user_chose_is_left_to_the_other_side() {
        assert_eq!(chosen("0-1", 1, "1", ""), cores("1", "0", false));
        assert_eq!(chosen("0-1", 1, "", "0"), cores("1", "0", false));
        assert_eq!(chosen("0-1", 2, "0-1", ""), cores("0,1", "0", true));
    }

    #[test]
    fn a_single_core_is_shared_and_that_is_said() {
        let one = "3".parse().unwrap();
        let placement = Placement::choose(&one, 2, None, None).unwrap();
        assert!(placement.shared);
        assert_eq!(
            placement.warnings,
            ["shared: clients run on the server's cores", "crowded: 2 workers run on 1 core"]
        );
    }

    #[test]
    fn a_core_outside_of_the_mask_is_named() {
        let allowed = "0-1".parse().unwrap();
        let wanted = Some("1,7".parse().unwrap());
        let error = Placement::choose(&allowed, 1, None, wanted).unwrap_err();
        assert_eq!(error.to_string(), "--client-cores names core 7, but this process may use only 0,1");
    }
}
