//! `corepool-lab`: parses the arguments, runs what they ask for, prints it.
//!
//! It ends with 0 when all went well, 1 when a run failed or lost requests, and
//! 2 when it was asked for something that cannot be done.
#![forbid(unsafe_code)]

mod arguments;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use corepool_lab::comparison::measure;
use corepool_lab::descriptors;
use corepool_lab::environment::{Machine, StealMeter};
use corepool_lab::load::{LoadPlan, load};
use corepool_lab::plan::{Plan, check_serve};
use corepool_lab::report::progress::Progress;
use corepool_lab::report::{LoadReport, Pair, Row, table};
use corepool_lab::serve::{ServeError, serve};
use serde::Serialize;

use crate::arguments::{AbArguments, Arguments, Command, LoadArguments, Output, ServeArguments};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Ab(arguments) => ab(&arguments),
        Command::Load(arguments) => load_server(&arguments),
        Command::Serve(arguments) => run_server(&arguments),
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

fn ab(arguments: &AbArguments) -> Result<(), Failure> {
    let options = arguments.options();
    let plan = Plan::new(options.clone()).map_err(Failure::usage)?;
    let mut output = Sink::open(&arguments.output)?;
    let machine = Machine::look();
    let steal = StealMeter::start();
    let progress = Progress::new(&plan);
    let outcome = measure(&plan, |phase, outcome| progress.round(phase, outcome)).map_err(Failure::run)?;
    drop(progress);
    let row = Row::new(&options, &plan, &outcome, machine, steal.percent());
    output.write(&Pair::of(&row), &table::row(&row))?;
    match row.failure {
        Some(failure) => Err(Failure::run(failure)),
        None => Ok(()),
    }
}

fn load_server(arguments: &LoadArguments) -> Result<(), Failure> {
    let plan = LoadPlan::new(&arguments.options()).map_err(Failure::usage)?;
    let mut output = Sink::open(&arguments.output)?;
    let progress = Progress::of_load(plan.slices.into());
    let whole = load(&plan, |whole| progress.slice(whole)).map_err(Failure::run)?;
    drop(progress);
    let report = LoadReport::new(&plan, &whole, Machine::look());
    output.write(&report, &table::load(&report))?;
    match whole.faults.total() {
        0 => Ok(()),
        _ => Err(Failure::run(whole.faults.to_string())),
    }
}

fn run_server(arguments: &ServeArguments) -> Result<(), Failure> {
    let options = arguments.options();
    check_serve(&options).map_err(Failure::usage)?;
    descriptors::raise();
    match serve(&arguments.name, &options) {
        // The workers still run; returning from `main` ends them.
        Ok(()) => Ok(()),
        Err(error @ ServeError::Unknown(_)) => Err(Failure::usage(error)),
        Err(error) => Err(Failure::run(error)),
    }
}

/// An error and the exit status that belongs to it.
struct Failure {
    error: Box<dyn Error>,
    status: u8,
}

impl Failure {
    fn usage(error: impl Into<Box<dyn Error>>) -> Self {
        Self { error: error.into(), status: 2 }
    }

    fn run(error: impl Into<Box<dyn Error>>) -> Self {
        Self { error: error.into(), status: 1 }
    }
}

/// Where the result goes; opened before a run, so that none is lost to a file
/// that cannot be written.
enum Sink {
    Table,
    TableAndFile(String, File),
    Json,
}

impl Sink {
    fn open(output: &Output) -> Result<Self, Failure> {
        match output.json.as_deref() {
            None => Ok(Self::Table),
            Some("-") => Ok(Self::Json),
            Some(path) => match File::create(path) {
                Ok(file) => Ok(Self::TableAndFile(path.to_owned(), file)),
                Err(error) => Err(Failure::usage(format!("--json {path}: {error}"))),
            },
        }
    }

    fn write(&mut self, report: &impl Serialize, table: &str) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(report).map_err(Failure::run)?;
        let mut stdout = io::stdout().lock();
        match self {
            Self::Json => writeln!(stdout, "{json}").map_err(Failure::run)?,
            Self::Table => writeln!(stdout, "{table}").map_err(Failure::run)?,
            Self::TableAndFile(path, file) => {
                writeln!(stdout, "{table}").map_err(Failure::run)?;
                writeln!(file, "{json}").map_err(|error| Failure::run(format!("--json {path}: {error}")))?;
            }
        }
        Ok(())
    }
}
