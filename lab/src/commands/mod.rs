//! The commands of the lab, one file each: from arguments to a result.

pub(crate) mod ab;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod cross_check;
pub(crate) mod doctor;
pub(crate) mod load;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod suite;

use std::error::Error;

use corepool_lab::experiment::Results;

/// An error and the exit status that belongs to it.
pub(crate) struct Failure {
    pub(crate) error: Box<dyn Error>,
    pub(crate) status: u8,
}

impl Failure {
    /// It was asked for something that cannot be done.
    pub(crate) fn usage(error: impl Into<Box<dyn Error>>) -> Self {
        Self { error: error.into(), status: 2 }
    }

    /// A run failed or lost requests.
    pub(crate) fn run(error: impl Into<Box<dyn Error>>) -> Self {
        Self { error: error.into(), status: 1 }
    }

    /// What failed in the rows, if anything did, or if none was run at all.
    pub(crate) fn of(results: &Results) -> Result<(), Self> {
        let told: Vec<_> = results
            .failures()
            .map(|(record, reason)| match record.label() {
                label if label.is_empty() => reason.to_owned(),
                label => format!("{label}: {reason}"),
            })
            .collect();
        match told.as_slice() {
            [] if results.rows().next().is_none() => Err(Self::run("no row could be run on this machine")),
            [] => Ok(()),
            told => Err(Self::run(told.join("\n       "))),
        }
    }
}
