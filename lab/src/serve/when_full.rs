//! What the framework does with a connection when every worker is full, by name.

use std::fmt;
use std::str::FromStr;

use corepool::Config;
use corepool::overflow::{Pause, Queue, Reject, ServeAnyway};
use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde::{Deserialize, Serialize};

/// An overflow policy of the framework, with its usual parameters. The servers by hand
/// have no limit, and so none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhenFull {
    /// It waits in a queue.
    Queue,
    /// It waits, and its worker accepts nobody else meanwhile.
    Pause,
    /// It is closed.
    Reject,
    /// It is served over the limit.
    ServeAnyway,
}

impl WhenFull {
    /// Every policy.
    pub const ALL: [Self; 4] = [Self::Queue, Self::Pause, Self::Reject, Self::ServeAnyway];

    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Pause => "pause",
            Self::Reject => "reject",
            Self::ServeAnyway => "serve-anyway",
        }
    }

    pub(super) fn apply(self, config: Config) -> Config {
        match self {
            Self::Queue => config.overflow(Queue::default()),
            Self::Pause => config.overflow(Pause),
            Self::Reject => config.overflow(Reject::Close),
            Self::ServeAnyway => config.overflow(ServeAnyway),
        }
    }
}

impl fmt::Display for WhenFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WhenFull {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        Self::deserialize(IntoDeserializer::<WordError>::into_deserializer(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_shown() {
        for policy in WhenFull::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
        }
        assert!("drop".parse::<WhenFull>().unwrap_err().to_string().contains("serve-anyway"));
    }
}
