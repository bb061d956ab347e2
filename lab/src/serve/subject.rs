//! What a user names as a server: one of the lab's, or a command of their own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::registry::{self, UnknownSystem};

/// A server to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub struct Subject {
    /// Its name in the [`registry`], or a command line. Whatever has a space, a
    /// slash or a brace in it is a command line.
    pub name: String,
    /// What drives its sockets; nobody knows that of a command.
    pub driver: &'static str,
}

impl Subject {
    /// Whether that text is a command line.
    #[must_use]
    pub fn is_command(text: &str) -> bool {
        text.contains(|letter: char| letter.is_whitespace() || matches!(letter, '/' | '{'))
    }
}

impl FromStr for Subject {
    type Err = UnknownSystem;

    fn from_str(text: &str) -> Result<Self, UnknownSystem> {
        let driver = match Self::is_command(text) {
            true => COMMAND_DRIVER,
            false => registry::find(text)?.driver,
        };
        Ok(Self { name: text.to_owned(), driver })
    }
}

impl TryFrom<String> for Subject {
    type Error = UnknownSystem;

    fn try_from(text: String) -> Result<Self, UnknownSystem> {
        text.parse()
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.name
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// What is said of the driver of a command.
pub(super) const COMMAND_DRIVER: &str = "unknown";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_and_a_command_is_believed() {
        assert_eq!("epoll".parse::<Subject>().unwrap().driver, "epoll");
        for command in ["redis-server --port {port}", "./server", "serve{addr}"] {
            assert_eq!(command.parse::<Subject>().unwrap().driver, "unknown");
        }
        assert!("nginx".parse::<Subject>().is_err());
    }
}
