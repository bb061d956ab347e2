//! What the backends share of Linux: sockets, listener groups, pinning, and why `io_uring` is not to be had.
//!
//! * [`StreamSocket`]: a socket, TCP or Unix, that belongs to no runtime; [`outcome_of_connect`].
//! * [`ListenSocket`] and [`bind_group`]: listening sockets, and how an address is claimed for all workers.
//! * [`unacknowledged`], [`reset_on_close`]: whether a peer reads, and what to do with one that does not.
//! * [`pin`]: this thread on one core.
//! * [`ring`]: the reason, in words, for an `io_uring` that cannot be set up.
//!
//! Everything that a runtime does differently is in its backend crate; everything that needs no descriptor is
//! in `corepool-core`.
#![deny(unsafe_code)]

mod handshakes;
mod listen;
mod reserve;
pub mod ring;
mod socket;
mod unacknowledged;

use std::io;

use corepool_core::cores::CoreId;

pub use listen::{ListenSocket, bind_group};
pub use socket::{StreamSocket, outcome_of_connect, reset_on_close};
pub use unacknowledged::unacknowledged;

/// Pins this thread to one core.
///
/// # Errors
/// The core does not exist, or is outside of the process's affinity mask or cpuset.
pub fn pin(core: CoreId) -> io::Result<()> {
    if core_affinity::set_for_current(core_affinity::CoreId { id: core.0 }) {
        Ok(())
    } else {
        let error = io::Error::last_os_error();
        Err(io::Error::new(error.kind(), format!("cannot pin to core {}: {error}", core.0)))
    }
}
