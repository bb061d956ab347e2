//! How many connections each client address has, over all workers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::check::within;
use crate::error::StartError;
use crate::sync::{Mutex, lock};

/// A bound on the connections of one client at a time, waiting ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PerClient {
    /// How many, at least one.
    pub connections_max: u32,
    /// How many leading bits of an IPv6 address say who it is, 1 to 128: whoever has one address usually has
    /// 2^64 of them. Default: 64. An IPv4 address that is written as IPv6 counts as IPv4.
    pub ipv6_prefix_bits: u8,
}

impl PerClient {
    /// So many connections for each address.
    pub fn new(connections_max: u32) -> Self {
        Self { connections_max, ipv6_prefix_bits: 64 }
    }

    pub(crate) fn check(self) -> Result<(), StartError> {
        within("per_client.connections_max", self.connections_max, 1, u32::MAX)?;
        within("per_client.ipv6_prefix_bits", u32::from(self.ipv6_prefix_bits), 1, 128)
    }

    /// Who it is.
    fn name(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let mask = u128::MAX << (128 - u32::from(self.ipv6_prefix_bits));
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        }
    }
}

/// How many locks the counts are spread over.
const SHARDS: usize = 64;

/// Counts by client. It remembers only who is connected.
#[derive(Debug)]
pub(crate) struct Clients {
    bound: PerClient,
    /// Chosen by a peer's address, and so hashed with a key that peers do not know.
    hasher: RandomState,
    shards: Box<[Mutex<HashMap<IpAddr, u32>>]>,
}

impl Clients {
    pub(crate) fn new(bound: PerClient) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Self { bound, hasher: RandomState::new(), shards })
    }

    /// Counts one more connection of this client, until the guard is dropped; `None` when it has enough.
    pub(crate) fn enter(self: &Arc<Self>, peer: SocketAddr) -> Option<Counted> {
        let name = self.bound.name(peer.ip());
        let mut shard = lock(self.shard(name));
        let count = shard.entry(name).or_default();
        if *count >= self.bound.connections_max {
            return None;
        }
        *count += 1;
        Some(Counted { clients: Arc::clone(self), name })
    }

    fn shard(&self, name: IpAddr) -> &Mutex<HashMap<IpAddr, u32>> {
        #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
        let hash = self.hasher.hash_one(name) as usize;
        &self.shards[hash % SHARDS]
    }
}

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Counted {
    clients: Arc<Clients>,
    name: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut shard = lock(self.clients.shard(self.name));
        if let Some(count) = shard.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                shard.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().expect("an address"), 1)
    }

    #[test]
    fn each_client_has_so_many_and_nobody_is_remembered() {
        let clients = Clients::new(PerClient::new(2));
        let held = [clients.enter(peer("10.0.0.1")), clients.enter(peer("10.0.0.1"))];
        assert!(held.iter().all(Option::is_some));
        assert!(clients.enter(peer("10.0.0.1")).is_none());
        assert!(clients.enter(peer("::ffff:10.0.0.1")).is_none(), "the same, written otherwise");
        assert!(clients.enter(peer("10.0.0.2")).is_some());
        drop(held);
        assert!(clients.enter(peer("10.0.0.1")).is_some());
        assert!(clients.shards.iter().all(|shard| lock(shard).is_empty()));
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let with =
            |connections_max, ipv6_prefix_bits| PerClient { connections_max, ipv6_prefix_bits }.check();
        let refused = |checked: Result<(), StartError>| checked.expect_err("refused").to_string();
        assert!(refused(with(0, 64)).starts_with("per_client.connections_max is 0"));
        assert!(refused(with(1, 0)).starts_with("per_client.ipv6_prefix_bits is 0"));
        assert!(refused(with(1, 129)).starts_with("per_client.ipv6_prefix_bits is 129"));
        assert!(with(1, 1).is_ok() && with(u32::MAX, 128).is_ok());
    }

    #[test]
    fn an_ipv6_client_is_its_prefix() {
        let clients = Clients::new(PerClient::new(1));
        let held = clients.enter(peer("2001:db8:0:1::1"));
        assert!(held.is_some());
        assert!(clients.enter(peer("2001:db8:0:1:ffff::2")).is_none());
        assert!(clients.enter(peer("2001:db8:0:2::1")).is_some());
        let exact = Clients::new(PerClient { connections_max: 1, ipv6_prefix_bits: 128 });
        let held = exact.enter(peer("2001:db8::1"));
        assert!(held.is_some() && exact.enter(peer("2001:db8::2")).is_some());
    }
}
