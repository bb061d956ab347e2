//! Which worker of the framework serves a connection: one of its placements, or one of the handoffs that are there
//! for comparison.

use std::fmt;
use std::str::FromStr;

use corepool::handoff::{NoHandoff, SharedQueue};
use corepool::{Config, Placement};
use serde::{Deserialize, Serialize};

/// Who serves what a worker has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum ServedBy {
    /// A worker whose permit is reserved first.
    Placed(Placement),
    /// Whoever claims it from one queue.
    SharedQueue,
    /// The worker that accepted it, whatever happens.
    NoHandoff,
}

impl ServedBy {
    /// The configuration with this handoff.
    #[must_use]
    pub fn apply(self, config: Config) -> Config {
        match self {
            Self::Placed(placement) => config.placement(placement),
            Self::SharedQueue => config.handoff(SharedQueue),
            Self::NoHandoff => config.handoff(NoHandoff),
        }
    }
}

impl fmt::Display for ServedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placed(placement) => placement.fmt(f),
            Self::SharedQueue => f.write_str("shared-queue"),
            Self::NoHandoff => f.write_str("none"),
        }
    }
}

/// A text that names no handoff.
#[derive(Debug, thiserror::Error)]
#[error("{0}; and so are shared-queue and none")]
pub struct UnknownHandoff(<Placement as FromStr>::Err);

impl FromStr for ServedBy {
    type Err = UnknownHandoff;

    fn from_str(text: &str) -> Result<Self, UnknownHandoff> {
        match text {
            "shared-queue" => Ok(Self::SharedQueue),
            "none" => Ok(Self::NoHandoff),
            _ => text.parse().map(Self::Placed).map_err(UnknownHandoff),
        }
    }
}

impl TryFrom<String> for ServedBy {
    type Error = UnknownHandoff;

    fn try_from(text: String) -> Result<Self, UnknownHandoff> {
        text.parse()
    }
}

impl From<ServedBy> for String {
    fn from(served_by: ServedBy) -> Self {
        served_by.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handoff_reads_what_it_writes() {
        for text in ["local-first", "even:2", "shared-queue", "none"] {
            assert_eq!(text.parse::<ServedBy>().unwrap().to_string(), text);
        }
        let error = "elsewhere".parse::<ServedBy>().unwrap_err().to_string();
        assert!(error.contains("round-robin") && error.contains("shared-queue"), "{error}");
    }
}
