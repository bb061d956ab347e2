//! The built `echo` example, spoken to from outside, over TCP and by signals, on every backend that is
//! compiled in.
//!
//! `server` starts and ends it; `traffic`, `limits`, `refusals` and `ending` hold the cases. Some cases need the
//! server under conditions that this process makes first: it starts itself again, see `conditions`.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod conditions;
mod ending;
mod limits;
mod refusals;
mod server;
mod traffic;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A case, by the name of the backend that it runs on.
type Case = fn(&'static str);

fn main() -> ExitCode {
    if let Some(code) = conditions::run_if_asked() {
        return code;
    }
    let cases: Vec<(&'static str, Case)> =
        [traffic::CASES, limits::CASES, refusals::CASES, ending::CASES].concat();
    let mut trials = Vec::new();
    for &backend in corepool::compiled_in() {
        for &(name, case) in &cases {
            let run = move || {
                case(backend);
                Ok(())
            };
            trials.push(Trial::test(format!("{backend}::{name}"), run));
        }
    }
    // Two at a time would share two cores and the process's descriptors.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit_code()
}
