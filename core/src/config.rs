//! The configuration of a server: what the user says, checked as a whole before anything starts.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::cores::{Allowance, CoreId, Wish, plan};
use crate::error::StartError;
use crate::placement::Placement;

/// What happens to a connection when no worker has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// It is closed at once.
    #[default]
    Reject,
    /// It is served over the limit by the worker that accepted it, up to that worker's `max_connections`.
    ServeAnyway,
}

/// How a server shall be set up. Methods chain; mistakes are reported when it starts.
#[derive(Debug, Clone)]
pub struct Config {
    listen: Vec<String>,
    wish: Wish,
    limit: Option<u32>,
    max_connections: Option<u32>,
    placement: Placement,
    overflow: Overflow,
    backlog: u32,
    grace: Duration,
    linger: Duration,
    seed: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// The defaults: a worker for each core there is, each pinned, no limit but that of descriptors.
    pub fn new() -> Self {
        Self {
            listen: Vec::new(),
            wish: Wish::default(),
            limit: None,
            max_connections: None,
            placement: Placement::default(),
            overflow: Overflow::default(),
            backlog: 1024,
            grace: Duration::from_secs(10),
            linger: Duration::from_secs(2),
            seed: None,
        }
    }

    /// Adds an address to listen on, `host:port`. Port 0 is a free one, the same for all workers. There is no
    /// default: at least one is needed. A wildcard `[::]` leaves IPv4 to `0.0.0.0` if both are given.
    #[must_use]
    pub fn listen(mut self, address: impl ToString) -> Self {
        self.listen.push(address.to_string());
        self
    }

    /// How many workers, 1 to 1024. Default: one for each core of the affinity mask, or as many as a cgroup
    /// quota pays for, rounded down. More workers than cores share cores.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.wish.workers = Some(count);
        self
    }

    /// The core of each worker, by the kernel's numbers. Default: the cores of the affinity mask, in order.
    #[must_use]
    pub fn cores(mut self, cores: impl Into<Vec<usize>>) -> Self {
        self.wish.cores = Some(cores.into());
        self
    }

    /// Whether workers are pinned. Default: yes, unless a cgroup quota gives us only part of the mask's time.
    #[must_use]
    pub fn pin(mut self, pin: bool) -> Self {
        self.wish.pin = Some(pin);
        self
    }

    /// How many connections each worker serves at a time, 1 to `max_connections`. Default: `max_connections`.
    /// When every worker is full, [`overflow`](Self::overflow) decides.
    #[must_use]
    pub fn limit(mut self, connections: u32) -> Self {
        self.limit = Some(connections);
        self
    }

    /// How many sockets each worker holds open at the most, whatever the policies. Default: its share of the
    /// descriptors that this process may open, less some for the server itself.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = Some(connections);
        self
    }

    /// On which worker a connection is served while there is room. Default: [`Placement::LocalFirst`].
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.placement = placement;
        self
    }

    /// What happens when there is room nowhere. Default: [`Overflow::Reject`].
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The length of each worker's accept queue, in connections, 1 to 65535; the kernel caps it at
    /// `net.core.somaxconn`. Default: 1024.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> Self {
        self.backlog = connections;
        self
    }

    /// How long connections may go on after a shutdown was asked for; the rest is aborted. At most a day.
    /// Default: 10 s.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How long closing waits for a peer that does not take the last bytes, or does not leave. At most a day.
    /// Default: 2 s.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// The seed of every random choice (where a scan for room starts). Default: a random one.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks everything, and settles what was left open.
    pub(crate) fn settle(&self) -> Result<(Settings, Vec<SocketAddr>), StartError> {
        let addresses = self.addresses()?;
        let cores = plan(&self.wish, &Allowance::of_this_process())?;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let possible = share_of_descriptors(descriptors, cores.len(), addresses.len());
        let max_connections = self.max_connections.unwrap_or(possible);
        within("max_connections", max_connections, 1, CONNECTIONS_MAX)?;
        let limit = self.limit.unwrap_or(max_connections);
        within("limit", limit, 1, max_connections)?;
        within("backlog", self.backlog, 1, 65_535)?;
        within_a_day("grace", self.grace)?;
        within_a_day("linger", self.linger)?;
        let settings = Settings {
            cores,
            limit,
            max_connections,
            placement: self.placement,
            overflow: self.overflow,
            backlog: self.backlog,
            grace: self.grace,
            linger: self.linger,
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..)),
        };
        Ok((settings, addresses))
    }

    fn addresses(&self) -> Result<Vec<SocketAddr>, StartError> {
        let mut addresses = Vec::new();
        for given in &self.listen {
            let invalid = |why: String| StartError::Config {
                field: "listen",
                value: given.clone(),
                allowed: format!("an address and a port are needed, as in 127.0.0.1:7000 ({why})"),
            };
            let resolved = given.to_socket_addrs().map_err(|error| invalid(error.to_string()))?;
            for address in resolved {
                if address.port() != 0 && addresses.contains(&address) {
                    return Err(invalid(format!("{address} is listed twice")));
                }
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(StartError::Config {
                field: "listen",
                value: "empty".into(),
                allowed: "at least one address is needed".into(),
            });
        }
        Ok(addresses)
    }
}

/// A checked configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The core of each worker, if it is pinned.
    pub(crate) cores: Vec<Option<CoreId>>,
    pub(crate) limit: u32,
    pub(crate) max_connections: u32,
    pub(crate) placement: Placement,
    pub(crate) overflow: Overflow,
    pub(crate) backlog: u32,
    pub(crate) grace: Duration,
    pub(crate) linger: Duration,
    pub(crate) seed: u64,
}

impl Settings {
    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.cores.len()
    }
}

/// More sockets than any worker can use; it keeps sums of counts far from overflow.
const CONNECTIONS_MAX: u32 = 1 << 24;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A worker's share of the descriptors of the process. Each worker needs a few of its own (ring or epoll,
/// event descriptor, listeners), and the program some.
fn share_of_descriptors(descriptors: u64, workers: usize, addresses: usize) -> u32 {
    let workers = workers as u64;
    let reserved = 32 + workers * (8 + addresses as u64);
    let share = descriptors.saturating_sub(reserved) / workers;
    u32::try_from(share).unwrap_or(u32::MAX).clamp(1, CONNECTIONS_MAX)
}

fn within(field: &'static str, value: u32, least: u32, most: u32) -> Result<(), StartError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(StartError::Config {
        field,
        value: value.to_string(),
        allowed: format!("{least} to {most} are allowed"),
    })
}

fn within_a_day(field: &'static str, value: Duration) -> Result<(), StartError> {
    if value <= DAY {
        return Ok(());
    }
    Err(StartError::Config { field, value: format!("{value:?}"), allowed: "at most a day is allowed".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: &Config) -> String {
        config.settle().expect_err("refused").to_string()
    }

    #[test]
    fn a_wrong_value_names_its_field_and_what_is_allowed() {
        let config = Config::new().listen("127.0.0.1:0");
        let limit = refused(&config.clone().limit(0).max_connections(10));
        assert_eq!(limit, "limit is 0: 1 to 10 are allowed");
        assert!(refused(&config.clone().limit(11).max_connections(10)).starts_with("limit is 11"));
        assert!(refused(&config.clone().max_connections(0)).starts_with("max_connections is 0"));
        assert!(refused(&config.clone().backlog(0)).starts_with("backlog is 0"));
        assert!(refused(&config.clone().grace(DAY * 2)).starts_with("grace is"));
        assert!(refused(&config.linger(DAY * 2)).starts_with("linger is"));
    }

    #[test]
    fn an_address_is_needed_and_must_make_sense() {
        assert!(refused(&Config::new()).starts_with("listen is empty"));
        assert!(refused(&Config::new().listen("7000")).starts_with("listen is 7000"));
        let twice = Config::new().listen("127.0.0.1:7000").listen("127.0.0.1:7000");
        assert!(refused(&twice).contains("twice"));
    }

    #[test]
    fn descriptors_are_shared_out_after_the_servers_own() {
        assert_eq!(share_of_descriptors(1024, 2, 1), (1024 - 32 - 18) / 2);
        assert_eq!(share_of_descriptors(10, 2, 1), 1);
        assert_eq!(share_of_descriptors(u64::MAX, 2, 1), CONNECTIONS_MAX);
    }
}
