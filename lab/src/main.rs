//! `corepool-lab`: parses the arguments, runs what they ask for, prints it.
//!
//! It ends with 0 when all went well, 1 when a run failed or lost requests, and
//! 2 when it was asked for something that cannot be done.
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod output;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::commands::Failure;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Ab(arguments) => commands::ab::ab(&arguments),
        Command::Run(arguments) => commands::run::run_plan(&arguments),
        Command::Suite(arguments) => commands::suite::run_suite(&arguments),
        Command::Report(arguments) => commands::report::show(&arguments),
        Command::Compare(arguments) => commands::compare::compare(&arguments),
        Command::Calibrate(arguments) => commands::calibrate::calibrate(&arguments),
        Command::CrossCheck(arguments) => commands::cross_check::cross_check(&arguments),
        Command::Doctor(arguments) => match commands::doctor::doctor(&arguments) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Command::Load(arguments) => commands::load::load_server(&arguments),
        Command::Serve(arguments) => commands::serve::run_server(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { error, status }) => {
            // Nothing is left to tell it to if this fails.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(status)
        }
    }
}
