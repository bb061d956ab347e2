//! A TCP proxy on any backend: `cargo run --release -p corepool-tcp-proxy -- --help`
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use tcp_proxy::command_line::Arguments;
use tcp_proxy::serving;

fn main() -> ExitCode {
    serving::log();
    match Arguments::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
