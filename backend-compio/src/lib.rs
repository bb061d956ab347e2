//! corepool on compio (`io_uring`).
//!
//! * [`Compio`]: the backend; [`Config`]: its knobs.
//! * `runtime`: starts one compio runtime on a ring, and proves that it is a ring.
//! * `memory`: the buffers of one core.
//! * [`CompioConn`]: a connection, composed of `receive` (with its `inbox`), `send` and `withdraw`.
//! * [`CompioListener`]: readiness of a listening socket; accepting is `accept4(2)`.
//! * `op`: the operations that compio lacks.
//!
//! # What is in flight
//! An operation lives in the connection, in a type with a name, and is polled again until the kernel is done with
//! it: no future of a caller's owns one. A receive has a buffer of its own, because that is the fastest; it is
//! withdrawn when the server finds the connection idle, and what it brings in that moment is kept. A connection
//! that is idle waits for readiness, and holds nothing.
//!
//! # Why a receive has a buffer of its own
//! The other ways were measured, with 4 and 64 connections, 512 B and 16 KiB. A ring of buffers that the kernel picks
//! from costs 2 to 20 % more CPU for a request, single-shot or multishot: its buffers are used in turn, and none is
//! warm. Waiting for readiness and then calling `recv(2)` costs up to 16 % more. Multishot is no faster than this, has
//! no backpressure, and compio 0.19 frees it twice when a runtime ends in the middle.
//!
//! # Unsafe
//! In `op` alone: what the entries of our own operations point to.
#![deny(unsafe_code)]

mod config;
mod conn;
mod inbox;
mod listener;
mod memory;
#[expect(unsafe_code, reason = "compio's OpCode is an unsafe trait")]
mod op;
mod receive;
mod runtime;
mod send;
mod withdraw;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use corepool_core::backend::{Backend, Bind};
use corepool_core::cores::CoreId;
use corepool_core::error::Unavailable;
use corepool_os::{ListenSocket, StreamSocket, bind_group};

pub use config::Config;
pub use conn::CompioConn;
pub use listener::CompioListener;

/// The compio runtime, on `io_uring`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compio;

impl Backend for Compio {
    const NAME: &'static str = "compio";
    type Conn = CompioConn;
    type Listener = CompioListener;
    type Socket = StreamSocket;
    type Config = Config;

    fn bind(bind: &Bind) -> io::Result<(SocketAddr, Vec<ListenSocket>)> {
        bind_group(bind)
    }

    fn run<F: Future>(
        core: Option<CoreId>,
        config: &Config,
        root: impl FnOnce(&'static str) -> F,
    ) -> Result<F::Output, Unavailable> {
        runtime::run(core, config, root)
    }

    fn spawn_local(future: impl Future<Output = ()> + 'static) {
        compio::runtime::spawn(future).detach();
    }

    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
        op::sleep(duration)
    }

    fn now() -> Instant {
        Instant::now()
    }

    fn lent_buffers() -> usize {
        memory::lent_buffers()
    }
}
