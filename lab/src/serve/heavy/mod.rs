//! The controls that bring many dependencies, each behind a feature of the lab;
//! the only place where it looks at features.

#[cfg(feature = "glommio")]
mod glommio;
#[cfg(feature = "smol")]
mod smol;

use super::registry::System;
#[cfg(any(feature = "glommio", feature = "smol"))]
use super::workers;

/// Those that are compiled in.
pub(super) const SYSTEMS: &[System] = &[
    #[cfg(feature = "smol")]
    System {
        name: "smol-per-core",
        driver: "epoll",
        about: "smol by hand: a pinned LocalExecutor per worker",
        start: |options, stop| workers::start(options, stop, smol::run),
    },
    #[cfg(feature = "glommio")]
    System {
        name: "glommio-per-core",
        driver: "io_uring",
        about: "glommio by hand: a pinned LocalExecutor per worker",
        start: |options, stop| workers::start(options, stop, glommio::run),
    },
];

/// All of them, with the feature that brings each.
pub(super) const FEATURES: &[(&str, &str)] = &[("smol-per-core", "smol"), ("glommio-per-core", "glommio")];
