//! What a user names as a server: one of the lab's, with options or without, or a command of their own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::registry::{self, UnknownSystem};

/// A server to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub struct Subject {
    /// Its name in the [`registry`], with options of `serve` of its own if there are
    /// any, or a command line. Whatever else has a space, a slash or a brace in it is
    /// a command line.
    pub name: String,
    /// What drives its sockets; nobody knows that of a command.
    pub driver: &'static str,
}

impl Subject {
    /// Whether that text is a command line.
    #[must_use]
    pub fn is_command(text: &str) -> bool {
        let is_line = text.contains(|letter: char| letter.is_whitespace() || matches!(letter, '/' | '{'));
        let (name, options) = Self::split(text);
        let is_with_options = registry::find(name).is_ok() && options.trim_start().starts_with("--");
        is_line && !is_with_options
    }

    /// The name of a server of the lab, and the options after it. Not for command lines.
    pub(crate) fn split(text: &str) -> (&str, &str) {
        let text = text.trim_start();
        text.split_once(char::is_whitespace).unwrap_or((text, ""))
    }
}

impl FromStr for Subject {
    type Err = UnknownSystem;

    fn from_str(text: &str) -> Result<Self, UnknownSystem> {
        let driver = match Self::is_command(text) {
            true => COMMAND_DRIVER,
            false => registry::find(Self::split(text).0)?.driver,
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
        assert_eq!("tokio --limit=8 --scope request".parse::<Subject>().unwrap().driver, "epoll");
        assert_eq!("tokio {port}".parse::<Subject>().unwrap().driver, "unknown");
        assert!("nginx".parse::<Subject>().is_err());
    }
}
