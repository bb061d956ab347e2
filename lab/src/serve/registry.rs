//! The servers that the lab knows, by name.
//!
//! A new one is one more entry here and one file beside this one.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use super::{ServeOptions, Stop, compio_raw, epoll, framework, heavy, monoio_raw, tokio_raw, uring, workers};

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
pub fn systems() -> impl Iterator<Item = &'static System> {
    [FRAMEWORK, BY_HAND, heavy::SYSTEMS, FLOORS].into_iter().flatten()
}

/// The server of that name.
///
/// # Errors
/// When there is none; the error lists the names, or says which feature brings
/// it.
pub fn find(name: &str) -> Result<&'static System, UnknownSystem> {
    let feature = || heavy::FEATURES.iter().find(|(known, _)| *known == name);
    systems().find(|system| system.name == name).ok_or_else(|| match feature() {
        Some((_, feature)) => UnknownSystem::NotCompiled { name: name.to_owned(), feature },
        None => UnknownSystem::Unknown(name.to_owned()),
    })
}

/// A name that no server has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownSystem {
    /// There is none of that name.
    #[error("there is no server `{0}`; there are {names}", names = names())]
    Unknown(String),
    /// It is left out here.
    #[error("the server `{name}` is not compiled in: build the lab with `--features {feature}`")]
    NotCompiled {
        /// The server.
        name: String,
        /// The feature of the lab that brings it.
        feature: &'static str,
    },
}

fn names() -> String {
    let names: Vec<_> = systems().map(|system| system.name).collect();
    names.join(", ")
}

const FRAMEWORK: &[System] = &[
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
        name: "compio-defer-taskrun",
        driver: "io_uring",
        about: "corepool on compio: completions when the worker asks for them",
        start: |options, stop| framework::start_compio(options, stop, framework::DEFER_TASKRUN),
    },
    System {
        name: "compio-coop-taskrun",
        driver: "io_uring",
        about: "corepool on compio: completions when the worker is in the kernel anyway",
        start: |options, stop| framework::start_compio(options, stop, framework::COOP_TASKRUN),
    },
    System {
        name: "compio-no-coop-taskrun",
        driver: "io_uring",
        about: "corepool on compio: completions interrupt the worker",
        start: |options, stop| framework::start_compio(options, stop, framework::NO_COOP_TASKRUN),
    },
];

const BY_HAND: &[System] = &[
    System {
        name: "tokio-default",
        driver: "epoll",
        about: "tokio by hand: one work-stealing runtime, one shared listener",
        start: tokio_raw::start_default,
    },
    System {
        name: "tokio-per-core",
        driver: "epoll",
        about: "tokio by hand: a pinned LocalRuntime per worker, read and write_all",
        start: |options, stop| workers::start(options, stop, tokio_raw::run),
    },
    System {
        name: "tokio-raw",
        driver: "epoll",
        about: "another name of tokio-per-core",
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
];

const FLOORS: &[System] = &[
    System {
        name: "epoll",
        driver: "epoll",
        about: "a bare level-triggered epoll loop, no runtime",
        start: |options, stop| workers::start(options, stop, epoll::run),
    },
    System {
        name: "uring",
        driver: "io_uring",
        about: "a bare io_uring loop, no runtime: single-shot receive",
        start: |options, stop| workers::start(options, stop, uring::run_single_shot),
    },
    System {
        name: "uring-multishot",
        driver: "io_uring",
        about: "a bare io_uring loop, no runtime: multishot receive, provided buffer ring",
        start: |options, stop| workers::start(options, stop, uring::run_multishot),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known_ones() {
        let error = find("nginx").unwrap_err().to_string();
        assert!(error.contains("`nginx`"), "{error}");
        for system in systems() {
            assert!(error.contains(system.name), "{error}");
        }
    }

    #[test]
    fn no_name_is_used_twice() {
        for system in systems() {
            let same = systems().filter(|other| other.name == system.name);
            assert_eq!(same.count(), 1, "{}", system.name);
        }
    }

    #[test]
    fn a_control_is_there_or_names_its_feature() {
        for (name, feature) in heavy::FEATURES {
            match find(name) {
                Ok(system) => assert_eq!(system.name, *name),
                Err(error) => assert!(error.to_string().contains(&format!("--features {feature}"))),
            }
        }
    }
}
