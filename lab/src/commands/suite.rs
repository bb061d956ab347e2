//! `suite`: plans that come with the lab, into a folder of this machine.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use corepool_lab::cores::Cores;
use corepool_lab::environment::Machine;
use corepool_lab::experiment::{Experiment, Results};
use corepool_lab::plan::Plan;
use corepool_lab::report::{csv, html, markdown};
use corepool_lab::suite::{SUITES, Suite, SuitePlan, folder, server_cores};

use super::{Failure, run};

#[derive(Debug, Args)]
#[command(after_help = suites())]
pub(crate) struct SuiteArguments {
    /// The suite
    name: String,
    /// Where the results go [default: docs/results/MACHINE/SUITE]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Run only the plan of that name
    #[arg(long, value_name = "PLAN")]
    only: Option<String>,
    /// Show what would be run, and how long it takes, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Pairs of slices of each row, instead of what the plan says
    #[arg(long)]
    pairs: Option<usize>,
    /// Restarts of each row, instead of what the plan says
    #[arg(long)]
    restarts: Option<usize>,
    /// Length of a slice in seconds, instead of what the plan says
    #[arg(long, value_name = "SECONDS")]
    slice: Option<f64>,
}

pub(crate) fn run_suite(arguments: &SuiteArguments) -> Result<(), Failure> {
    let name = &arguments.name;
    let suite = Suite::find(name)
        .ok_or_else(|| Failure::usage(format!("there is no suite `{name}`; there are\n{}", suites())))?;
    let chosen = |plan: &&SuitePlan| arguments.only.as_ref().is_none_or(|only| only == plan.name);
    let plans: Vec<_> = suite.plans.iter().filter(chosen).collect();
    if plans.is_empty() {
        let names: Vec<_> = suite.plans.iter().map(|plan| plan.name).collect();
        return Err(Failure::usage(format!("the plans of {name} are {}", names.join(", "))));
    }
    let machine = Machine::look();
    let cores = Cores::allowed().map_err(Failure::run)?;
    let experiments = plans.iter().map(|plan| {
        let experiment = plan.experiment(server_cores(&cores)).map_err(Failure::usage)?;
        Ok((plan.name, arguments.changed(experiment)))
    });
    let experiments = experiments.collect::<Result<Vec<_>, Failure>>()?;
    if arguments.dry_run {
        return writeln!(io::stdout(), "{}", preview(&experiments)).map_err(Failure::run);
    }
    let out =
        arguments.out.clone().unwrap_or_else(|| Path::new("docs/results").join(folder(&machine)).join(name));
    measure(suite, &experiments, &out)
}

impl SuiteArguments {
    fn changed(&self, mut experiment: Experiment) -> Experiment {
        for row in &mut experiment.rows {
            let statistics = &mut row.options.statistics;
            statistics.pairs = self.pairs.unwrap_or(statistics.pairs);
            statistics.restarts = self.restarts.unwrap_or(statistics.restarts);
            statistics.slice_seconds = self.slice.unwrap_or(statistics.slice_seconds);
        }
        experiment
    }
}

/// Runs all plans, each into files of its name; a plan that fails does not keep
/// the others from being run.
fn measure(suite: &Suite, experiments: &[(&str, Experiment)], out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|error| Failure::usage(format!("{}: {error}", out.display())))?;
    let mut failed = Vec::new();
    for (name, experiment) in experiments {
        let _ = writeln!(io::stderr(), "== {} {name}: {}", suite.name, experiment.heading.title);
        let results = run::measure(experiment, &out.join(format!("{name}.jsonl")), false)?;
        write(out, name, &results)?;
        if let Err(Failure { error, .. }) = Failure::of(&results) {
            failed.push(format!("{name}: {error}"));
        }
    }
    let index = index(suite, out)?;
    fs::write(out.join("README.md"), index).map_err(Failure::run)?;
    let _ = writeln!(io::stderr(), "The results are in {}", out.display());
    if failed.is_empty() { Ok(()) } else { Err(Failure::run(failed.join("\n       "))) }
}

fn write(out: &Path, name: &str, results: &Results) -> Result<(), Failure> {
    let forms = [
        ("md", markdown::of(results)),
        ("html", html::of(results)),
        ("csv", csv::of(results).map_err(Failure::run)?),
    ];
    for (form, text) in forms {
        let path = out.join(format!("{name}.{form}"));
        fs::write(&path, text).map_err(|error| Failure::run(format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

/// All that the folder has of the suite, from earlier runs too.
fn index(suite: &Suite, out: &Path) -> Result<String, Failure> {
    let mut text = format!(
        "# Suite {}\n\n{}.\n\nMade by `cargo run --release -p corepool-lab -- suite {}`.\n\n",
        suite.name, suite.about, suite.name
    );
    for plan in suite.plans.iter().filter(|plan| out.join(format!("{}.md", plan.name)).exists()) {
        let (name, title) = (plan.name, plan.experiment(1).map_err(Failure::usage)?.heading.title);
        let _ = writeln!(
            text,
            "* {title}: [table]({name}.md), [plots]({name}.html), [CSV]({name}.csv), [all slices]({name}.jsonl)"
        );
    }
    Ok(text)
}

/// The rows with the time that they take.
fn preview(experiments: &[(&str, Experiment)]) -> String {
    let mut text = String::new();
    let mut all = 0.0;
    for (name, experiment) in experiments {
        let seconds: f64 = experiment.rows.iter().map(|row| row.seconds()).sum();
        all += seconds;
        let _ = writeln!(text, "{name}: {:.0} min", seconds / 60.0);
        for row in &experiment.rows {
            let label = row.label();
            let label = if label.is_empty() { "a single row" } else { &label };
            let refused = Plan::new(row.options.clone()).err();
            let refused = refused.map_or_else(String::new, |error| format!(" -- refused: {error}"));
            let _ = writeln!(text, "  {label}{refused}");
        }
    }
    let _ = write!(text, "{:.0} min in all, if nothing is refused", all / 60.0);
    text
}

fn suites() -> String {
    let lines = SUITES.iter().map(|suite| format!("  {:10}{}", suite.name, suite.about));
    format!("Suites:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
