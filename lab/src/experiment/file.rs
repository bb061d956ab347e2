//! The file of an experiment.
//!
//! ```toml
//! title = "Scaling with workers"
//! systems = ["tokio-raw", "tokio", "monoio"]   # the first is compared with
//!
//! [workload]                                   # what every row has in common
//! name = "echo"
//! bytes = 512
//!
//! [[case]]                                     # values that change together
//! servers.workers = 1
//! workload.connections = 64
//!
//! [[case]]
//! servers.workers = 4
//! workload.connections = 128
//!
//! [sweep]                                      # every combination of these
//! workload.bytes = [512, 16384]
//! ```
//!
//! A row is made for each case and each combination of the sweep. The tables
//! are those of [`PlanOptions`]. Servers that are not always built can be named in
//! `systems_if_built`. With `study_cores = 12`, a machine whose servers can have
//! fewer cores runs fewer workers, connections and requests per second, in
//! proportion. A key that means nothing is an error.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::sweep::{self, Point};
use super::{Experiment, Heading, PlannedRow};
use crate::plan::{PlacementOptions, Plan, PlanOptions, ServerOptions, StatisticsOptions};
use crate::serve::registry;
use crate::workload::WorkloadOptions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    systems: Vec<String>,
    #[serde(default)]
    systems_if_built: Vec<String>,
    study_cores: Option<usize>,
    #[serde(default)]
    workload: WorkloadOptions,
    #[serde(default)]
    servers: ServerOptions,
    #[serde(default)]
    placement: PlacementOptions,
    #[serde(default)]
    statistics: StatisticsOptions,
    #[serde(default)]
    case: Vec<Table>,
    #[serde(default)]
    sweep: Table,
}

/// Reads the file of an experiment.
///
/// # Errors
/// When it cannot be read, has a key that means nothing, or a row that no
/// machine could run. A row that only this machine cannot run is no error here.
pub fn read(path: &Path) -> Result<Experiment, FileError> {
    let shown = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|source| FileError::Read { path: shown.clone(), source })?;
    parse(&text).map_err(|reason| FileError::Wrong { path: shown, reason })
}

/// Makes an experiment of the text of a file.
///
/// # Errors
/// What is wrong with it, in words.
pub fn parse(text: &str) -> Result<Experiment, String> {
    let file: PlanFile = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let points =
        sweep::points(&file.sweep).map_err(|name| format!("sweep.{name} must be a list of values"))?;
    let cases: Vec<Point> = match file.case.is_empty() {
        true => vec![Point::new()],
        false => file.case.iter().map(sweep::point).collect(),
    };
    let built = file.systems_if_built.into_iter().filter(|name| registry::find(name).is_ok());
    let base = PlanOptions {
        systems: file.systems.into_iter().chain(built).collect(),
        workload: file.workload,
        servers: file.servers,
        placement: file.placement,
        statistics: file.statistics,
        executable: None,
    };
    let base = Table::try_from(&base).map_err(|error| error.to_string())?;
    let points =
        cases.iter().flat_map(|case| points.iter().map(|point| [case.clone(), point.clone()].concat()));
    let rows = points.map(|point| row(&base, &point)).collect::<Result<Vec<_>, _>>()?;
    if rows.len() > ROWS_MAX {
        return Err(format!("{} rows are more than the {ROWS_MAX} that a plan may have", rows.len()));
    }
    Ok(Experiment {
        heading: Heading { title: file.title, about: file.about },
        rows,
        study_cores: file.study_cores,
    })
}

fn row(base: &Table, point: &Point) -> Result<PlannedRow, String> {
    let varied = sweep::varied(point);
    let told = |error: &dyn std::fmt::Display| match varied.is_empty() {
        true => error.to_string(),
        false => format!("{} (where {})", error.to_string().trim_end(), super::label(&varied)),
    };
    let table = Value::Table(sweep::with(base.clone(), point));
    let options: PlanOptions = table.try_into().map_err(|error: toml::de::Error| told(&error))?;
    match Plan::new(options.clone()) {
        Err(error) if !error.is_of_this_machine() => Err(told(&error)),
        _ => Ok(PlannedRow { options, varied }),
    }
}

/// A file that is no experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It says something that means nothing.
    #[error("{path}: {reason}")]
    Wrong {
        /// The file.
        path: String,
        /// What.
        reason: String,
    },
}

const ROWS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
        title = "Scaling"
        systems = ["epoll", "tokio-raw"]
        [workload]
        bytes = 64
    "#;

    fn rows(more: &str) -> Vec<PlannedRow> {
        parse(&format!("{PLAN}\n{more}")).unwrap().rows
    }

    fn error(more: &str) -> String {
        parse(&format!("{PLAN}\n{more}")).unwrap_err()
    }

    #[test]
    fn a_plan_without_a_sweep_is_one_row() {
        let rows = rows("");
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].options.workload.bytes, Some(64));
        assert!(rows[0].varied.is_empty());
    }

    #[test]
    fn every_case_is_combined_with_the_sweep() {
        let rows = rows(
            "[[case]]\nservers.workers = 1\n[[case]]\nservers.workers = 2\nworkload.connections = 128\n\
             [sweep]\nworkload.pipeline = [1, 4]",
        );
        let labels: Vec<_> = rows.iter().map(PlannedRow::label).collect();
        assert_eq!(
            labels,
            [
                "workers 1, pipeline 1",
                "workers 1, pipeline 4",
                "workers 2, connections 128, pipeline 1",
                "workers 2, connections 128, pipeline 4"
            ]
        );
        assert_eq!(rows[3].options.workload.connections, Some(128));
        assert_eq!(rows[3].options.workload.bytes, Some(64));
    }

    #[test]
    fn no_two_rows_have_the_same_key() {
        let rows = rows("[sweep]\nservers.workers = [1, 2]\nworkload.bytes = [1, 2]");
        let mut keys: Vec<_> = rows.iter().map(PlannedRow::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 4);
    }

    #[test]
    fn an_unknown_key_is_named_wherever_it_stands() {
        assert!(error("colour = 1").contains("unknown field `colour`"));
        assert!(error("[servers]\nwrokers = 1").contains("unknown field `wrokers`"));
        assert!(error("[sweep]\nservers.wrokers = [1]").contains("unknown field `wrokers`"));
        assert!(error("[[case]]\nworkload.size = 1").contains("unknown field `size`"));
        assert!(parse("titel = \"x\"").unwrap_err().contains("unknown field `titel`"));
    }

    #[test]
    fn a_row_that_no_machine_could_run_is_told_with_its_values() {
        let error = error("[sweep]\nservers.workers = [1, 1000]");
        assert_eq!(error, "--workers is 1000, but must be from 1 to 256 (where workers 1000)");
        let unknown = parse("title = \"\"\nsystems = [\"epoll\", \"nginx\"]").unwrap_err();
        assert!(unknown.contains("no server `nginx`"), "{unknown}");
    }

    #[test]
    fn a_row_that_this_machine_cannot_run_is_part_of_the_experiment() {
        assert_eq!(rows("[placement]\nserver_cores = [900]").len(), 1);
    }
}
