//! What can go wrong before a server serves, split by whose fault it is.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// A backend that cannot start on this machine: why, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("the {backend} backend cannot start: {reason}. {advice}")]
#[non_exhaustive]
pub struct Unavailable {
    /// The backend's name.
    pub backend: &'static str,
    /// What is in the way.
    pub reason: String,
    /// What the user can do.
    pub advice: String,
    /// What the operating system said.
    #[source]
    pub source: io::Error,
}

impl Unavailable {
    /// An error of `backend`, with its `reason`, the `advice` to give, and the `source`.
    pub fn new(
        backend: &'static str,
        reason: impl fmt::Display,
        advice: impl fmt::Display,
        source: io::Error,
    ) -> Self {
        Self { backend, reason: reason.to_string(), advice: advice.to_string(), source }
    }
}

/// Why a server did not start. Nothing of it is left behind: no thread, no socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A value of the configuration is out of range.
    #[error("{field} is {value}: {allowed}")]
    Config {
        /// The builder's method.
        field: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address as it was given.
        address: SocketAddr,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The runtime cannot start on this machine.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A worker could not be set up, or its handler's factory panicked.
    #[error("worker {worker} cannot start: {source}")]
    Worker {
        /// The worker's index.
        worker: usize,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
}
