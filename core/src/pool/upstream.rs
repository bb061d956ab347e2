//! Outbound connections as a pool's resources.

use std::future::{Future, ready};

use super::Resource;
use crate::address::Address;
use crate::backend::Backend;
use crate::connect::{ConnectError, Connector};
use crate::outbound::Outbound;

/// Where the connections of a pool lead to, and how they are opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Upstream {
    /// The addresses of one server, the best first.
    pub addresses: Vec<Address>,
    /// How they are connected to.
    pub connector: Connector,
}

impl Upstream {
    /// A server, connected to with the connector's defaults.
    pub fn new(addresses: impl IntoIterator<Item = impl Into<Address>>) -> Self {
        Self { addresses: addresses.into_iter().map(Into::into).collect(), connector: Connector::new() }
    }

    /// The same server, connected to in another way.
    #[must_use]
    pub fn connector(mut self, connector: Connector) -> Self {
        self.connector = connector;
        self
    }
}

/// A connection is used again only if its user has said that the exchange is over ([`Outbound::settle`]) and nothing has
/// arrived since: one that comes back in the middle of an exchange is closed, or the next user would receive the rest
/// of an answer that was not meant for it. One that its peer has closed is not lent out.
impl<B: Backend> Resource for Outbound<B> {
    type Source = Upstream;
    type Error = ConnectError;

    fn create(source: &Upstream) -> impl Future<Output = Result<Self, ConnectError>> {
        source.connector.connect(&source.addresses)
    }

    fn check(&mut self) -> impl Future<Output = bool> {
        ready(self.is_quiet())
    }

    fn recycle(&mut self) -> bool {
        self.is_settled() && self.is_quiet()
    }
}
