//! Whose turn it is: the upstreams in turn, and the next one when one cannot be reached.

use std::cell::Cell;
use std::io;

use corepool::connect::ConnectError;
use corepool::{Address, Backend, Connector, Outbound};

/// The upstreams of one core.
#[derive(Debug)]
pub struct Upstreams {
    /// Each with all addresses that its name has.
    upstreams: Vec<Vec<Address>>,
    next: Cell<usize>,
    connector: Connector,
}

/// No upstream could be reached.
#[derive(Debug, thiserror::Error)]
#[error("no upstream could be reached: {}", list(.0))]
pub struct NoneReached(Vec<ConnectError>);

impl Upstreams {
    /// These upstreams, beginning with the one at `first`, so that not all cores begin with the same.
    #[must_use]
    pub fn new(upstreams: Vec<Vec<Address>>, first: usize, connector: Connector) -> Self {
        let next = Cell::new(first % upstreams.len().max(1));
        Self { upstreams, next, connector }
    }

    /// Connects to the upstream whose turn it is. Those that cannot be reached are passed over, and `failed` hears of
    /// each.
    ///
    /// # Errors
    /// None can be reached; the error says what became of each.
    ///
    /// # Cancel safety
    /// Dropping the future closes what it has begun; the turn has passed on.
    pub async fn connect<B: Backend>(
        &self,
        mut failed: impl FnMut(&ConnectError),
    ) -> Result<Outbound<B>, NoneReached> {
        let count = self.upstreams.len();
        let first = self.next.get();
        self.next.set(if first + 1 < count { first + 1 } else { 0 });
        let mut errors = Vec::new();
        for addresses in self.upstreams.iter().cycle().skip(first).take(count) {
            match self.connector.connect::<B>(addresses).await {
                Ok(connected) => return Ok(connected),
                Err(error) => {
                    failed(&error);
                    errors.push(error);
                }
            }
        }
        Err(NoneReached(errors))
    }
}

/// Resolves each text to the addresses that it means. It blocks the thread: for before the server starts.
///
/// # Errors
/// A text is no address, or its name has none.
pub fn resolve(texts: &[String]) -> io::Result<Vec<Vec<Address>>> {
    texts.iter().map(|text| Address::resolve(text)).collect()
}

fn list(errors: &[ConnectError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
