//! A checked configuration: what is wrong is refused by name, what was left open is settled.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use crate::admission::limit::Admission;
use crate::check::{within, within_a_day};
use crate::clients::PerClient;
use crate::config::{Config, Scope};
use crate::cores::{Allowance, CoreId, plan};
use crate::deadlines::Deadlines;
use crate::error::StartError;
use crate::handoff::Handoff;
use crate::overflow::Overflow;

/// A checked configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The core of each worker, if it is pinned.
    pub(crate) cores: Vec<Option<CoreId>>,
    pub(crate) scope: Scope,
    /// The limit that each worker begins with.
    pub(crate) limit: u32,
    pub(crate) admission: Option<Arc<dyn Admission>>,
    pub(crate) max_connections: u32,
    pub(crate) per_client: Option<PerClient>,
    pub(crate) handoff: Arc<dyn Handoff>,
    pub(crate) overflow: Arc<dyn Overflow>,
    /// How many connections may wait, in all.
    pub(crate) queue_max: u32,
    pub(crate) deadlines: Deadlines,
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

    /// How often connections are looked over: so that one that is idle gives its buffer back within a second, and
    /// no deadline passes unseen for long.
    pub(crate) fn sweep_interval(&self) -> Duration {
        let shortest = self.deadlines.shortest().unwrap_or(Duration::MAX);
        (shortest / 4).clamp(SWEEP_INTERVAL_LEAST, SWEEP_INTERVAL)
    }
}

/// How often a worker looks over its connections. One that has been idle for two sweeps, and so for less than
/// a second, gives its receive buffer back.
const SWEEP_INTERVAL: Duration = Duration::from_millis(400);

/// How often it does at the most.
const SWEEP_INTERVAL_LEAST: Duration = Duration::from_millis(5);

/// More sockets than any worker can use; it keeps sums of counts far from overflow.
const CONNECTIONS_MAX: u32 = 1 << 24;

/// A worker's share of the descriptors of the process. Each worker needs a few of its own (ring or epoll,
/// event descriptor, listeners), and the program some.
fn share_of_descriptors(descriptors: u64, workers: usize, addresses: usize) -> u32 {
    let workers = workers as u64;
    let reserved = 32 + workers * (8 + addresses as u64);
    let share = descriptors.saturating_sub(reserved) / workers;
    u32::try_from(share).unwrap_or(u32::MAX).clamp(1, CONNECTIONS_MAX)
}

impl Config {
    /// Checks everything, and settles what was left open.
    pub(crate) fn settle(&self) -> Result<(Settings, Vec<SocketAddr>), StartError> {
        let addresses = self.addresses()?;
        let cores = plan(&self.wish, &Allowance::of_this_process())?;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let possible = share_of_descriptors(descriptors, cores.len(), addresses.len());
        let max_connections = self.max_connections.unwrap_or(possible);
        within("max_connections", max_connections, 1, CONNECTIONS_MAX)?;
        let limit = self.first_limit(max_connections, cores.len())?;
        within("backlog", self.backlog, 1, 65_535)?;
        self.overflow.check()?;
        self.deadlines.check()?;
        self.per_client.map_or(Ok(()), PerClient::check)?;
        within_a_day("grace", self.grace)?;
        within_a_day("linger", self.linger)?;
        let settings = Settings {
            cores,
            limit,
            max_connections,
            scope: self.scope,
            admission: self.admission.clone(),
            per_client: self.per_client,
            handoff: Arc::clone(&self.handoff),
            queue_max: self.overflow.queue_max(),
            overflow: Arc::clone(&self.overflow),
            deadlines: self.deadlines,
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

    /// The limit that every worker begins with.
    fn first_limit(&self, max_connections: u32, workers: usize) -> Result<u32, StartError> {
        let Some(admission) = &self.admission else {
            // Who waits needs a descriptor as well.
            let waiting = self.overflow.queue_max().div_ceil(u32::try_from(workers).unwrap_or(u32::MAX));
            return Ok(max_connections - waiting.min(max_connections / 2));
        };
        let first = admission.first();
        if self.scope == Scope::Connection && first != u32::MAX {
            within("limit", first, 1, max_connections)?;
        }
        admission.check()?;
        Ok(first.min(max_connections))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::limit::Adaptive;
    use crate::admission::limit::Unlimited;
    use crate::overflow::{Queue, Reject};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn refused(config: &Config) -> String {
        config.settle().expect_err("refused").to_string()
    }

    #[test]
    fn a_wrong_value_names_its_field_and_what_is_allowed() {
        let config = Config::new().listen("127.0.0.1:0");
        let two = config.clone().workers(2).max_connections(10);
        assert!(refused(&two.clone().overflow(Queue::new(0, DAY))).starts_with("overflow.limit is 0"));
        assert!(refused(&two.clone().overflow(Queue::new(1, DAY * 2))).starts_with("overflow.deadline is"));
        assert!(
            refused(&two.clone().per_client(PerClient::new(0))).starts_with("per_client.connections_max")
        );
        let deadlines = Deadlines::default().idle(Duration::ZERO);
        assert!(refused(&two.clone().deadlines(deadlines)).starts_with("deadlines.idle is 0ns"));
        assert!(refused(&two.admission(Adaptive::between(3, 2))).starts_with("admission.least is 3"));
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

    #[test]
    fn who_may_wait_has_descriptors_left() {
        let config = Config::new().listen("127.0.0.1:0").workers(2).max_connections(1000);
        let limit = |config: &Config| config.settle().expect("valid").0.limit;
        assert_eq!(limit(&config.clone().overflow(Queue::new(100, DAY))), 950);
        assert_eq!(limit(&config.clone().overflow(Queue::new(100_000, DAY))), 500);
        assert_eq!(limit(&config.clone().overflow(Reject::Close)), 1000);
        assert_eq!(limit(&config.clone().limit(1000)), 1000);
        assert_eq!(limit(&config.clone().admission(Unlimited)), 1000);
        assert_eq!(limit(&config.scope(Scope::Request).limit(5000)), 1000);
    }

    #[test]
    fn a_short_deadline_is_looked_for_often() {
        let config = Config::new().listen("127.0.0.1:0");
        let interval = |config: &Config| config.settle().expect("valid").0.sweep_interval();
        assert_eq!(interval(&config), SWEEP_INTERVAL);
        let short = Deadlines::none().receive(Duration::from_millis(100));
        assert_eq!(interval(&config.deadlines(short)), Duration::from_millis(25));
    }
}
