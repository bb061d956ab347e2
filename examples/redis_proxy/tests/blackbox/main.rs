//! The built `redis_proxy`, spoken to from outside, on every backend that is compiled in and in both modes.
//!
//! `proxy` starts and ends it, `fake` is an upstream that misbehaves to order, `client` speaks RESP. `good`, `bad`,
//! `dying`, `pressure` and `ending` hold the cases; `crossing` is the property that no reply ever reaches the wrong
//! client; `real` uses Debian's Redis and its tools, where they can be had.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test code")]

mod bad;
mod client;
mod crossing;
mod dying;
mod ending;
mod fake;
mod good;
mod pressure;
mod proxy;
mod real;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// What a case runs on.
#[derive(Clone, Copy)]
pub(crate) struct On {
    pub(crate) backend: &'static str,
    pub(crate) mode: &'static str,
}

/// A case, by what it runs on.
type Case = fn(On);

fn main() -> ExitCode {
    let both =
        [good::CASES, bad::CASES, dying::CASES, pressure::CASES, ending::CASES, crossing::CASES, real::CASES]
            .concat();
    let mut trials = Vec::new();
    for &backend in corepool::compiled_in() {
        for (mode, of_mode) in [("direct", good::DIRECT), ("shared", good::SHARED)] {
            for &(name, case) in both.iter().chain(of_mode) {
                let run = move || {
                    case(On { backend, mode });
                    Ok(())
                };
                trials.push(Trial::test(format!("{backend}::{mode}::{name}"), run));
            }
        }
    }
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit_code()
}
