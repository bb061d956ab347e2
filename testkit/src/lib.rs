//! What proves that a backend keeps the seam's contract, and that the server works on it.
//!
//! * [`run`]: the list of conformance cases, run against one backend. A backend crate's `tests/conformance.rs`
//!   is one line, with `harness = false`.
//! * [`Difference`]: what a backend is known to do differently, with the reason. It must still fail.
//! * [`allocations()`]: what a message costs in allocations, for a test with an allocator that counts.
//! * [`hops_between`]: one connection that changes runtimes, for a crate that has two of them.
//! * [`sim`]: a simulated backend, in which the real server runs through thousands of seeded histories.
//! * [`handlers`]: handlers for all of these.
//!
//! Inside:
//! * `harness`: one case at a time, on a thread of its own, with a watchdog and a count of what it leaves behind.
//! * `cases`: the list, and a file for each behaviour; those of the whole server are called `server_*`.
//! * `peer`: the other end of every connection, a plain blocking `std` socket on another thread.
//! * `bench`: what the runtime's side of a case is made of. `task`: what it spawns.
//! * `served`: a server under test, and what must hold when it has ended.
//! * `tool`: what a pool holds in its cases. `pattern`: the bytes that are sent. `process`: descriptors and threads.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test code in a library: a failed unwrap is a failed case")]

mod allocations;
mod bench;
mod cases;
pub mod handlers;
mod harness;
mod pattern;
mod peer;
mod process;
mod served;
pub mod sim;
mod task;
pub mod tool;

pub use allocations::allocations;
pub use cases::hop::between as hops_between;
pub use harness::{Difference, SocketBackend, run};
pub use task::Task;
