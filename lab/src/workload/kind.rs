//! The words of a workload: its name, who closes, which way.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde::{Deserialize, Serialize};

/// The name of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Requests that come back as they are.
    #[default]
    Echo,
    /// A new connection for each request.
    Churn,
    /// More persistent clients than the server has slots.
    Saturation,
    /// A tenth of few connections sends nine tenths of the requests.
    Skew,
    /// A handler that computes and waits.
    Work,
    /// Thousands of connections that do nothing, and some that do.
    Idle,
    /// Large transfers.
    Stream,
    /// HTTP/1.1 GET on persistent connections.
    Http,
}

impl Kind {
    /// Every workload.
    pub const ALL: [Self; 8] = [
        Self::Echo,
        Self::Churn,
        Self::Saturation,
        Self::Skew,
        Self::Work,
        Self::Idle,
        Self::Stream,
        Self::Http,
    ];

    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Churn => "churn",
            Self::Saturation => "saturation",
            Self::Skew => "skew",
            Self::Work => "work",
            Self::Idle => "idle",
            Self::Stream => "stream",
            Self::Http => "http",
        }
    }
}

/// Who closes a connection first, which is who keeps it in TIME_WAIT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Closes {
    /// The client, which keeps its port busy for a minute.
    #[default]
    Client,
    /// The server, after the last reply.
    Server,
    /// The client, by a reset, which leaves nothing behind.
    Reset,
}

impl Closes {
    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Reset => "reset",
        }
    }
}

/// Which way large transfers go, seen from the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Direction {
    /// Large requests, small replies.
    Up,
    /// Small requests, large replies.
    Down,
    /// Large requests that are echoed while they are sent.
    #[default]
    Both,
}

impl Direction {
    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Closes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        word(text)
    }
}

impl FromStr for Closes {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        word(text)
    }
}

impl FromStr for Direction {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        word(text)
    }
}

/// One of a few words; the error lists them.
pub(super) fn word<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, WordError> {
    T::deserialize(IntoDeserializer::<WordError>::into_deserializer(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_shown() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for closes in [Closes::Client, Closes::Server, Closes::Reset] {
            assert_eq!(closes.to_string().parse(), Ok(closes));
        }
        for direction in [Direction::Up, Direction::Down, Direction::Both] {
            assert_eq!(direction.to_string().parse(), Ok(direction));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "ping".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("`ping`") && error.contains("`saturation`"), "{error}");
    }
}
