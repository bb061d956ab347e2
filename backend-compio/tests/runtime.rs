//! Starting, and what a root may do.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{close, pair, run};
use corepool_compio::{Compio, CompioConn, Config};
use corepool_core::backend::{Backend, Conn, Detached};

#[test]
fn a_knob_out_of_range_is_named() {
    let mut config = Config::default();
    config.ring_entries = 0;
    let error = Compio::run(None, &config, |_driver| async {}).expect_err("it is out of range");
    assert!(error.to_string().contains("ring_entries is 0. Choose 1 to 32768"), "{error}");
}

#[test]
fn it_runs_without_deferred_completions() {
    let mut config = Config::default();
    (config.defer_taskrun, config.coop_taskrun) = (false, true);
    assert_eq!(Compio::run(None, &config, |driver| async move { driver }).expect("a runtime"), "io_uring");
}

#[test]
fn a_root_that_panics_leaves_the_thread_usable() {
    let panicking = || {
        run(&Config::default(), || async {
            let (mut conn, _peer) = pair();
            Compio::spawn_local(async move { close(&mut conn).await });
            panic!("the root of this test");
        });
    };
    catch_unwind(AssertUnwindSafe(panicking)).expect_err("the panic comes through");
    assert_eq!(run(&Config::default(), || async { 7 }), 7);
}

#[test]
fn a_connection_needs_a_runtime() {
    let (socket, _peer) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let socket = corepool_os::StreamSocket::from(std::os::fd::OwnedFd::from(socket));
    let error = CompioConn::attach(Detached::from(socket)).expect_err("there is none");
    assert!(error.to_string().contains("no compio runtime"), "{error}");
}
