//! A connection that hops 100 times between two runtimes of one process while its peer streams both ways,
//! byte-exact: for every pair of backends. Needs all features, which `cargo test --workspace` enables.
#![forbid(unsafe_code)]

use corepool::backend::{Compio, Monoio, Tokio};
use corepool_testkit::hops_between;

#[test]
fn between_epoll_and_each_ring() {
    hops_between::<Tokio, Compio>();
    hops_between::<Tokio, Monoio>();
}

#[test]
fn between_the_rings() {
    hops_between::<Compio, Monoio>();
}

#[test]
fn every_backend_is_compiled_in_and_was_tested() {
    assert_eq!(corepool::compiled_in(), ["tokio", "compio", "monoio"]);
}
