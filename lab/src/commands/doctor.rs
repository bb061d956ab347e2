//! `doctor`: whether this machine is fit to measure on and to serve from.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use corepool_lab::doctor::{Check, Diagnosis, Facts, State, Steps};

use super::Failure;
use crate::output::JsonOutput;

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    output: JsonOutput,
}

/// Ends with 2 if something is bad.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let mut output = arguments.output.open()?;
    let diagnosis = Diagnosis::new(&Facts::read());
    output.write(&diagnosis, &words(&diagnosis))?;
    Ok(ExitCode::from(if diagnosis.is_fit() { 0 } else { UNFIT }))
}

fn words(diagnosis: &Diagnosis) -> String {
    let checks = diagnosis.checks.iter().map(of_check);
    let steps = diagnosis.steps.iter().map(of_card);
    let verdict = match diagnosis.is_fit() {
        true => "Nothing stands in the way.".to_owned(),
        false => "What is BAD stands in the way.".to_owned(),
    };
    checks.chain(steps).chain([verdict]).collect::<Vec<_>>().join("\n")
}

fn of_check(check: &Check) -> String {
    let state = match check.state {
        State::Good => "good",
        State::Bad => "BAD",
        _ => "doubtful",
    };
    let mut text = format!("{state:9} {}: {}", check.about, check.found);
    if let Some(advice) = &check.advice {
        let _ = write!(text, "\n          -> {advice}");
    }
    text
}

fn of_card(steps: &Steps) -> String {
    let mut text = format!(
        "\nCard {}: {}. Nothing is changed here; to serve from it, as root:\n",
        steps.name, steps.found
    );
    if steps.apply.is_empty() {
        text.push_str("  it is laid out already\n");
    }
    for line in &steps.apply {
        let _ = writeln!(text, "  {line}");
    }
    if !steps.undo.is_empty() {
        text.push_str("to take that back:\n");
    }
    for line in &steps.undo {
        let _ = writeln!(text, "  {line}");
    }
    text
}

const UNFIT: u8 = 2;
