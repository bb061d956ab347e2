//! Admission: who may be served now, who waits, and who gets the permit that is given back.
//!
//! * `gate`: one word per worker says how many permits are taken. A permit is taken on the worker that will
//!   serve, *before* the connection moves there: a transfer cannot find its target full.
//! * `line`: the queue of whoever waits for a permit of any worker. Pure data, first in first out.
//! * `exchange`: the two together, without a wake lost between them. The algorithm is in `docs/src/protocol.md`.
//! * `requests`: the permits of requests, under `Scope::Request`. They never leave their worker, and so need no
//!   atomics at all.
//! * `limit`: what sets the limit, once or continually.
//!
//! Which worker to ask is the decision of `handoff` and `placement`; what becomes of whoever finds no room is
//! that of `overflow`.

mod exchange;
mod gate;
pub mod limit;
mod line;
mod requests;

#[cfg(test)]
mod models;

pub(crate) use exchange::{Exchange, NotParked, Ports};
pub(crate) use gate::{Gates, Seen};
pub(crate) use line::{Fate, Place, Waiter};
pub(crate) use requests::{Requests, Ticket};
