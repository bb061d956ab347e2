//! Models of the exchange for loom, which tries every order of what threads may do. Run by `scripts/loom`;
//! `scripts/weaken` shows that they notice what is wrong. Without loom they are unit tests, in two orders.
//!
//! Every model ends in the same way: nothing is taken, no flag is set, nobody waits, and each who came has had
//! exactly one fate.

mod claims;
mod deaths;
mod endings;
#[cfg(corepool_loom)]
mod every_order;
#[cfg(not(corepool_loom))]
mod histories;
mod limits;
mod parking;
#[cfg(not(corepool_loom))]
mod two_orders;
mod world;

#[cfg(corepool_loom)]
use every_order as orders;
#[cfg(not(corepool_loom))]
use two_orders as orders;

use orders::{explore, spawn};
