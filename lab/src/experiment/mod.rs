//! Experiments as data: a file that says what is to be compared, and the file
//! beside it that has the results.
//!
//! [`mod@file`] reads the TOML and makes rows of it, with `sweep` and `scale`; [`run`] measures
//! them one after the other; [`store`] keeps each finished [`record`] as a line
//! of JSON, so that an interruption loses nothing but the row that was under way.

pub mod file;
pub mod record;
pub mod run;
mod scale;
pub mod store;
mod sweep;

use serde::{Deserialize, Serialize};

use crate::plan::PlanOptions;

pub use file::FileError;
pub use record::{Ending, Record, Results};
pub use store::{Store, StoreError};

/// A number of comparisons under one title.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Experiment {
    /// What it is about.
    pub heading: Heading,
    /// What is run, in this order; at least one.
    pub rows: Vec<PlannedRow>,
    /// How many cores the servers of the study had that this repeats, if it may be
    /// scaled to fewer.
    pub study_cores: Option<usize>,
}

/// What an experiment is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Heading {
    /// One line.
    pub title: String,
    /// What a reader should know, if anything.
    #[serde(default)]
    pub about: String,
}

/// One comparison of an experiment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedRow {
    /// What is run.
    pub options: PlanOptions,
    /// In what it differs from the other rows.
    pub varied: Vec<Varied>,
}

/// A parameter that differs between the rows of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Varied {
    /// Its place in the plan, such as `servers.workers`.
    pub name: String,
    /// Its value, as it is shown.
    pub value: String,
}

impl Varied {
    /// The last part of its name.
    #[must_use]
    pub fn short_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }
}

impl PlannedRow {
    /// What it is found by in the results: all of its parameters.
    #[must_use]
    pub fn key(&self) -> String {
        serde_json::to_string(&self.options).expect("options are plain data")
    }

    /// In what it differs, as one line.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.varied)
    }

    /// About how long it takes, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        let statistics = &self.options.statistics;
        let noise = if statistics.noise { 2 * 3 * statistics.restarts.min(6) } else { 0 };
        let slices = self.options.systems.len() * (statistics.pairs + statistics.restarts) + noise;
        let starts = (self.options.systems.len() * statistics.restarts) as f64 * START_SECONDS;
        slices as f64 * statistics.slice_seconds + starts
    }
}

/// What it takes to start a server and to connect to it.
const START_SECONDS: f64 = 0.1;

pub(crate) fn label(varied: &[Varied]) -> String {
    let parts = varied.iter().map(|varied| format!("{} {}", varied.short_name(), varied.value));
    parts.collect::<Vec<_>>().join(", ")
}
