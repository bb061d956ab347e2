//! The result of one row, as a line of the results, and all of them together.

use serde::{Deserialize, Serialize};

use super::{Heading, PlannedRow, Varied};
use crate::report::Row;

/// What became of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// What the row is found by, see [`PlannedRow::key`].
    pub key: String,
    /// In what it differs from the other rows.
    pub varied: Vec<Varied>,
    /// How it ended.
    pub ending: Ending,
}

/// How a row ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// It was measured; if requests were lost, it says so itself.
    Measured(Box<Row>),
    /// It could not be finished.
    Failed(String),
    /// This machine cannot run it.
    Refused(String),
}

/// All rows of an experiment, in the order of the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Results {
    /// What it is about.
    pub heading: Heading,
    /// The rows.
    pub records: Vec<Record>,
}

impl Record {
    pub(super) fn new(row: &PlannedRow, ending: Ending) -> Self {
        Self { key: row.key(), varied: row.varied.clone(), ending }
    }

    /// In what it differs, as one line.
    #[must_use]
    pub fn label(&self) -> String {
        super::label(&self.varied)
    }

    /// What was measured, if anything was.
    #[must_use]
    pub fn row(&self) -> Option<&Row> {
        match &self.ending {
            Ending::Measured(row) => Some(row),
            Ending::Failed(_) | Ending::Refused(_) => None,
        }
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match &self.ending {
            Ending::Measured(row) => row.failure.as_deref(),
            Ending::Failed(reason) => Some(reason),
            Ending::Refused(_) => None,
        }
    }

    /// Whether nothing would be gained by running it again.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(&self.ending, Ending::Measured(row) if row.failure.is_none())
    }
}

impl Results {
    /// A single comparison that belongs to no experiment.
    #[must_use]
    pub fn of_row(row: Row) -> Self {
        let names: Vec<_> = row.systems.iter().map(|system| system.name.as_str()).collect();
        let heading = Heading { title: names.join(" / "), about: String::new() };
        let record = Record {
            key: serde_json::to_string(&row.environment.plan).expect("options are plain data"),
            varied: Vec::new(),
            ending: Ending::Measured(Box::new(row)),
        };
        Self { heading, records: vec![record] }
    }

    /// The rows that failed, with their reasons.
    pub fn failures(&self) -> impl Iterator<Item = (&Record, &str)> {
        self.records.iter().filter_map(|record| Some((record, record.failure()?)))
    }

    /// The rows that were measured.
    pub fn rows(&self) -> impl Iterator<Item = (&Record, &Row)> {
        self.records.iter().filter_map(|record| Some((record, record.row()?)))
    }
}
