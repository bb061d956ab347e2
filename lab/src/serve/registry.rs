//! The servers that the lab knows, by name.
//!
//! A new one is one more entry of [`SYSTEMS`] and one file beside this one.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use super::{ServeOptions, Stop, compio_raw, epoll, framework, monoio_raw, tokio_raw, workers};

/// A server under test.
#[derive(Debug)]
#[non_exhaustive]
pub struct System {
    /// What the user calls it.
    pub name: &'static str,
    /// What drives its sockets: `epoll` or `io_uring`, never a fallback.
    pub driver: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// Starts it in this process and returns once it accepts connections; if
    /// it stops by itself later, it says so on the channel.
    pub(super) start: fn(&ServeOptions, &Sender<Stop>) -> io::Result<Vec<SocketAddr>>,
}

/// Every server, in the order in which they are listed to the user.
pub const SYSTEMS: &[System] = &[
    System {
        name: "tokio",
        driver: "epoll",
        about: "corepool on tokio",
        start: |options, stop| framework::start(options, stop, "tokio", "epoll"),
    },
    System {
        name: "compio",
        driver: "io_uring",
        about: "corepool on compio",
        start: |options, stop| framework::start(options, stop, "compio", "io_uring"),
    },
    System {
        name: "monoio",
        driver: "io_uring",
        about: "corepool on monoio",
        start: |options, stop| framework::start(options, stop, "monoio", "io_uring"),
    },
    System {
        name: "tokio-raw",
        driver: "epoll",
        about: "tokio by hand: a pinned LocalRuntime per worker, read and write_all",
        start: |options, stop| workers::start(options, stop, tokio_raw::run),
    },
    System {
        name: "compio-raw",
        driver: "io_uring",
        about: "compio by hand, with the receives that measured best (multishot)",
        start: |options, stop| workers::start(options, stop, compio_raw::run_multishot),
    },
    System {
        name: "compio-raw-managed",
        driver: "io_uring",
        about: "compio by hand: single-shot receive into a provided buffer",
        start: |options, stop| workers::start(options, stop, compio_raw::run_managed),
    },
    System {
        name: "compio-raw-multishot",
        driver: "io_uring",
        about: "compio by hand: one multishot receive per connection",
        start: |options, stop| workers::start(options, stop, compio_raw::run_multishot),
    },
    System {
        name: "compio-raw-owned",
        driver: "io_uring",
        about: "compio by hand: receive into a buffer of the connection",
        start: |options, stop| workers::start(options, stop, compio_raw::run_owned),
    },
    System {
        name: "monoio-raw",
        driver: "io_uring",
        about: "monoio by hand: read and write_all with a buffer of the connection",
        start: |options, stop| workers::start(options, stop, monoio_raw::run),
    },
    System {
        name: "epoll",
        driver: "epoll",
        about: "a bare level-triggered epoll loop, no runtime",
        start: |options, stop| workers::start(options, stop, epoll::run),
    },
];

/// The server of that name.
///
/// # Errors
/// When there is none; the error lists the names.
pub fn find(name: &str) -> Result<&'static System, UnknownSystem> {
    SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| UnknownSystem(name.to_owned()))
}

/// A name that no server has.
#[derive(Debug, thiserror::Error)]
#[error("there is no server `{0}`; there are {names}", names = names())]
pub struct UnknownSystem(String);

fn names() -> String {
    let names: Vec<_> = SYSTEMS.iter().map(|system| system.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
        let error = find("nginx").unwrap_err().to_string();
        assert!(error.contains("`nginx`"), "{error}");
        for system in SYSTEMS {
            assert!(error.contains(system.name), "{error}");
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        for system in SYSTEMS {
            let same = SYSTEMS.iter().filter(|other| other.name == system.name);
            assert_eq!(same.count(), 1, "{}", system.name);
        }
    }
}
