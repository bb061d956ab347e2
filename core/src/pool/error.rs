//! Why a pool could not be built, and why it has nothing to lend.

use std::fmt;
use std::time::Duration;

/// A value of a pool's configuration that is out of range.
#[derive(Debug, thiserror::Error)]
#[error("{field} is {value}: {allowed}")]
#[non_exhaustive]
pub struct InvalidPool {
    /// The builder's method.
    pub field: &'static str,
    /// The value that was given.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl InvalidPool {
    pub(crate) fn new(field: &'static str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), allowed: allowed.into() }
    }
}

/// Why nothing was acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError<E> {
    /// None was free in time.
    #[error("nothing was free in the pool within {after:?}")]
    TimedOut {
        /// The acquire timeout.
        after: Duration,
    },
    /// So many wait already that one more is not let in.
    #[error("{waiting} are waiting for the pool already")]
    Crowded {
        /// How many wait.
        waiting: usize,
    },
    /// The pool is closed.
    #[error("the pool is closed")]
    Closed,
    /// A new one could not be made.
    #[error("the pool could not make a new one: {0}")]
    Create(E),
}

impl<E> From<AcquireError<E>> for std::io::Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    fn from(error: AcquireError<E>) -> Self {
        let kind = match &error {
            AcquireError::TimedOut { .. } => std::io::ErrorKind::TimedOut,
            AcquireError::Crowded { .. } => std::io::ErrorKind::ResourceBusy,
            AcquireError::Closed => std::io::ErrorKind::NotConnected,
            AcquireError::Create(_) => std::io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
