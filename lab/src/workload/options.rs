//! A workload as a user writes it, checked: what is left open is filled in by
//! its name, and what means nothing to it is refused.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Closes, Direction, Kind, Mix, Workload};

/// A workload as it stands in a plan or on the command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkloadOptions {
    /// Its name.
    pub name: Kind,
    /// As [`Workload::connections`], 1 to 20,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// As [`Workload::bytes`], 1 to 16 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// As [`Workload::pipeline`], 1 to 1,024; all of it at most 64 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<usize>,
    /// As [`Workload::requests_per_connection`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u64>,
    /// As [`Workload::closes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes: Option<Closes>,
    /// As [`Workload::idle`], 0 to 1,000,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<usize>,
    /// As [`Workload::uneven`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uneven: Option<bool>,
    /// As [`Workload::mix`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// As [`Workload::direction`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// As [`Workload::path`], beginning with `/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// As [`Workload::rate`], 1 to 100 million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

/// A workload that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// A value that is not allowed.
    #[error("{parameter} is {value}, but must be from {least} to {most}")]
    OutOfRange {
        /// The parameter.
        parameter: &'static str,
        /// What it was set to.
        value: String,
        /// The least that is allowed.
        least: String,
        /// The most that is allowed.
        most: String,
    },
    /// A parameter that means nothing to this workload.
    #[error("the workload {kind} has no {parameter}")]
    Meaningless {
        /// The workload.
        kind: Kind,
        /// The parameter.
        parameter: &'static str,
    },
    /// The highest rate is looked for, and one was given.
    #[error("rate is given, but the highest one is to be found")]
    FixedRate,
    /// A path that no HTTP request can have.
    #[error("path is {0:?}, but must begin with / and have no spaces")]
    Path(String),
}

impl WorkloadOptions {
    /// A workload by name, all else as usual.
    #[must_use]
    pub fn of(name: Kind) -> Self {
        Self { name, ..Self::default() }
    }
}

impl TryFrom<WorkloadOptions> for Workload {
    type Error = WorkloadError;

    fn try_from(options: WorkloadOptions) -> Result<Self, WorkloadError> {
        let kind = options.name;
        for (parameter, given, takes) in parameters(&options) {
            if given && !takes(kind) {
                return Err(WorkloadError::Meaningless { kind, parameter });
            }
        }
        let usual = Self::of(kind);
        let workload = Self {
            kind,
            connections: options.connections.unwrap_or(usual.connections),
            bytes: options.bytes.unwrap_or(usual.bytes),
            pipeline: options.pipeline.unwrap_or(usual.pipeline),
            requests_per_connection: options.requests_per_connection.unwrap_or(usual.requests_per_connection),
            closes: options.closes.unwrap_or(usual.closes),
            idle: options.idle.unwrap_or(usual.idle),
            uneven: options.uneven.unwrap_or(usual.uneven),
            mix: options.mix.unwrap_or(usual.mix),
            direction: options.direction.unwrap_or(usual.direction),
            path: options.path.unwrap_or(usual.path),
            rate: options.rate,
            seed: 0,
        };
        workload.check()?;
        Ok(workload)
    }
}

impl From<Workload> for WorkloadOptions {
    /// All that means something to this workload.
    fn from(workload: Workload) -> Self {
        let kind = workload.kind;
        Self {
            name: kind,
            connections: Some(workload.connections),
            bytes: Some(workload.bytes),
            pipeline: pipelines(kind).then_some(workload.pipeline),
            requests_per_connection: reconnects(kind).then_some(workload.requests_per_connection),
            closes: churns(kind).then_some(workload.closes),
            idle: idles(kind).then_some(workload.idle),
            uneven: works(kind).then_some(workload.uneven),
            mix: works(kind).then_some(workload.mix),
            direction: streams(kind).then_some(workload.direction),
            path: asks(kind).then_some(workload.path),
            rate: workload.rate,
        }
    }
}

impl Workload {
    /// Whether the highest rate of this workload can be looked for.
    ///
    /// # Errors
    /// When it has no rate, or a fixed one.
    pub(crate) fn check_search(&self) -> Result<(), WorkloadError> {
        match self.rate {
            Some(_) => Err(WorkloadError::FixedRate),
            None if has_rate(self.kind) => Ok(()),
            None => Err(WorkloadError::Meaningless { kind: self.kind, parameter: "rate" }),
        }
    }

    fn check(&self) -> Result<(), WorkloadError> {
        // Whoever closes after a request cannot have another one under way.
        let requests_max = if self.pipeline > 1 { 0 } else { REQUESTS_PER_CONNECTION_MAX };
        let requests = u64::from(self.kind == Kind::Churn)..=requests_max;
        within("connections", self.connections, CONNECTIONS)?;
        within("bytes", self.bytes, BYTES)?;
        within("pipeline", self.pipeline, 1..=(IN_FLIGHT_BYTES_MAX / self.bytes).clamp(1, PIPELINE_MAX))?;
        within("requests_per_connection", self.requests_per_connection, requests)?;
        within("idle", self.idle, IDLE)?;
        within("rate", self.rate.unwrap_or(1.0), RATE)?;
        let is_sent_as_it_is = |byte: u8| byte.is_ascii_graphic();
        if !self.path.starts_with('/') || !self.path.bytes().all(is_sent_as_it_is) {
            return Err(WorkloadError::Path(self.path.clone()));
        }
        Ok(())
    }
}

type Takes = fn(Kind) -> bool;

/// Each parameter, whether it is given, and which workloads have it.
fn parameters(options: &WorkloadOptions) -> [(&'static str, bool, Takes); 9] {
    [
        ("pipeline", options.pipeline.is_some(), pipelines),
        ("requests_per_connection", options.requests_per_connection.is_some(), reconnects),
        ("closes", options.closes.is_some(), churns),
        ("idle", options.idle.is_some(), idles),
        ("uneven", options.uneven.is_some(), works),
        ("mix", options.mix.is_some(), works),
        ("direction", options.direction.is_some(), streams),
        ("path", options.path.is_some(), asks),
        ("rate", options.rate.is_some(), has_rate),
    ]
}

const fn pipelines(kind: Kind) -> bool {
    matches!(kind, Kind::Echo | Kind::Http)
}

const fn reconnects(kind: Kind) -> bool {
    matches!(kind, Kind::Echo | Kind::Churn | Kind::Saturation | Kind::Http)
}

const fn churns(kind: Kind) -> bool {
    matches!(kind, Kind::Churn)
}

const fn idles(kind: Kind) -> bool {
    matches!(kind, Kind::Idle)
}

const fn works(kind: Kind) -> bool {
    matches!(kind, Kind::Work)
}

const fn streams(kind: Kind) -> bool {
    matches!(kind, Kind::Stream)
}

const fn asks(kind: Kind) -> bool {
    matches!(kind, Kind::Http)
}

const fn has_rate(kind: Kind) -> bool {
    !matches!(kind, Kind::Churn | Kind::Saturation | Kind::Stream)
}

/// Checks that a parameter is in its range.
fn within<T: PartialOrd + Display>(
    parameter: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), WorkloadError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(WorkloadError::OutOfRange {
        parameter,
        value: value.to_string(),
        least: range.start().to_string(),
        most: range.end().to_string(),
    })
}

/// Below the number of ports that one address has for its connections to another.
const CONNECTIONS: RangeInclusive<usize> = 1..=20_000;
const BYTES: RangeInclusive<usize> = 1..=16 * 1024 * 1024;
const PIPELINE_MAX: usize = 1024;
/// Each thread keeps as many bytes at hand.
const IN_FLIGHT_BYTES_MAX: usize = 64 * 1024 * 1024;
const REQUESTS_PER_CONNECTION_MAX: u64 = 1_000_000_000;
const IDLE: RangeInclusive<usize> = 0..=1_000_000;
const RATE: RangeInclusive<f64> = 1.0..=1e8;

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(json: &str) -> Result<Workload, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_open_is_as_usual_for_that_name() {
        assert_eq!(workload("{}").unwrap(), Workload::default());
        for kind in Kind::ALL {
            let named = workload(&format!(r#"{{"name": "{kind}"}}"#)).unwrap();
            assert_eq!(named, Workload::of(kind));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for kind in Kind::ALL {
            let written = serde_json::to_string(&Workload::of(kind)).unwrap();
            assert_eq!(workload(&written).unwrap(), Workload::of(kind), "{written}");
        }
        let churn =
            r#"{"name":"churn","connections":8,"bytes":100,"requests_per_connection":2,"closes":"server"}"#;
        assert_eq!(serde_json::to_string(&workload(churn).unwrap()).unwrap(), churn);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = workload(r#"{"name": "echo", "conections": 3}"#).unwrap_err();
        assert!(error.contains("`conections`"), "{error}");
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_range() {
        let cases = [
            (r#"{"connections": 0}"#, "connections is 0, but must be from 1 to 20000"),
            (r#"{"bytes": 0}"#, "bytes is 0, but must be from 1 to 16777216"),
            (r#"{"bytes": 16777216, "pipeline": 5}"#, "pipeline is 5, but must be from 1 to 4"),
            (
                r#"{"pipeline": 2, "requests_per_connection": 1}"#,
                "requests_per_connection is 1, but must be from 0 to 0",
            ),
            (r#"{"rate": 0}"#, "rate is 0, but must be from 1 to 100000000"),
            (
                r#"{"name": "churn", "requests_per_connection": 0}"#,
                "requests_per_connection is 0, but must be from 1 to 1000000000",
            ),
            (r#"{"name": "http", "path": "index"}"#, "path is \"index\", but must begin with /"),
        ];
        for (json, expected) in cases {
            let error = workload(json).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_parameter_that_means_nothing_is_refused() {
        let error = workload(r#"{"name": "echo", "mix": "mixed"}"#).unwrap_err();
        assert!(error.contains("the workload echo has no mix"), "{error}");
        let error = workload(r#"{"name": "stream", "rate": 10}"#).unwrap_err();
        assert!(error.contains("the workload stream has no rate"), "{error}");
    }
}
