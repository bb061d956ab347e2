//! The results of an experiment as lines, one for each server of each row: what
//! a table on a terminal and one in Markdown have in common.

use super::words::{how_to_read, interval, number, shown};
use super::{Comparison, Finding, Row};
use crate::experiment::{Ending, Record, Results};
use crate::figures::Figure;

/// The lines with what stands above and below them.
pub(super) struct Lines {
    /// The names of the columns.
    pub(super) header: Vec<String>,
    /// The lines, in the order of the plan.
    pub(super) lines: Vec<Line>,
    /// What a reader must know besides.
    pub(super) notes: Vec<String>,
}

/// One server of one row.
pub(super) struct Line {
    /// The values of what varies.
    pub(super) parameters: Vec<String>,
    /// The server and its figures.
    pub(super) cells: Vec<String>,
}

impl Lines {
    pub(super) fn of(results: &Results) -> Self {
        let names = parameters(results);
        let short = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
        let columns =
            ["server", "requests/s", "CPU/request, us", "p99, us", "ratio of CPU", "95 % interval", ""];
        Self {
            header: names.iter().map(short).chain(columns.map(str::to_owned)).collect(),
            lines: results.records.iter().flat_map(|record| of_record(record, &names)).collect(),
            notes: below(results),
        }
    }

    /// The columns that have numbers.
    pub(super) fn numbers(&self) -> std::ops::Range<usize> {
        let parameters = self.header.len() - COLUMNS;
        parameters + 1..self.header.len() - 1
    }
}

/// The names of all parameters that vary, in the order in which they come.
pub(super) fn parameters(results: &Results) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for varied in results.records.iter().flat_map(|record| &record.varied) {
        if !names.contains(&varied.name) {
            names.push(varied.name.clone());
        }
    }
    names
}

/// The values of these parameters in a row; empty where it does not have one.
pub(super) fn values(record: &Record, names: &[String]) -> Vec<String> {
    let value = |name: &String| {
        let varied = record.varied.iter().find(|varied| varied.name == *name);
        varied.map_or_else(String::new, |varied| varied.value.clone())
    };
    names.iter().map(value).collect()
}

/// A row in one line, for a log.
#[must_use]
pub fn line(record: &Record) -> String {
    let label = record.label();
    let text = match &record.ending {
        Ending::Failed(reason) => format!("FAILED: {reason}"),
        Ending::Refused(reason) => format!("refused: {reason}"),
        Ending::Measured(row) => match &row.failure {
            Some(failure) => format!("FAILED: {failure}"),
            None => row.comparisons.iter().map(said).collect::<Vec<_>>().join("; "),
        },
    };
    if label.is_empty() { text } else { format!("{label}: {text}") }
}

fn said(comparison: &Comparison) -> String {
    let ratio = comparison.ratio(Figure::PRIMARY);
    format!(
        "{}/{} CPU {} [{}] {}",
        comparison.system,
        comparison.with,
        number(ratio.and_then(|ratio| ratio.median)),
        interval(ratio),
        word(comparison)
    )
}

fn of_record(record: &Record, names: &[String]) -> Vec<Line> {
    let parameters = values(record, names);
    let said = |word: &str| {
        let mut cells = vec![String::new(); COLUMNS];
        cells[COLUMNS - 1] = word.to_owned();
        vec![Line { parameters: parameters.clone(), cells }]
    };
    let row = match &record.ending {
        Ending::Failed(_) => return said("FAILED"),
        Ending::Refused(_) => return said("refused"),
        Ending::Measured(row) => row,
    };
    let line = |system: usize| Line { parameters: parameters.clone(), cells: cells(row, system) };
    (0..row.systems.len()).map(line).collect()
}

fn cells(row: &Row, index: usize) -> Vec<String> {
    let system = &row.systems[index];
    let comparison = index.checked_sub(1).and_then(|index| row.comparisons.get(index));
    let ratio = comparison.and_then(|comparison| comparison.ratio(Figure::PRIMARY));
    let figure = |figure: Figure| shown(figure, system.figure(figure));
    let verdict = match (comparison, system.failed_slices) {
        (_, 1..) => "FAILED",
        (None, 0) => "",
        (Some(comparison), 0) => word(comparison),
    };
    vec![
        system.name.clone(),
        figure(Figure::RequestsPerSecond),
        figure(Figure::PRIMARY),
        figure(Figure::P99),
        ratio.map_or_else(String::new, |ratio| number(ratio.median)),
        ratio.map_or_else(String::new, |ratio| interval(Some(ratio))),
        verdict.to_owned(),
    ]
}

fn word(comparison: &Comparison) -> &'static str {
    match comparison.ratio(Figure::PRIMARY) {
        Some(ratio) => match ratio.finding {
            Finding::Different if ratio.median.is_some_and(|ratio| ratio < 1.0) => "less",
            Finding::Different => "more",
            Finding::Equivalent => "same",
            Finding::Undecided => "undecided",
            Finding::Unknown => "not measured",
            Finding::Failed => "FAILED",
            Finding::ClientsAreTheLimit => "clients",
        },
        None => "not measured",
    }
}

/// Why rows have no figures, and how to read those that do.
fn below(results: &Results) -> Vec<String> {
    let told = |record: &Record| match &record.ending {
        Ending::Failed(reason) => Some(format!("FAILED: {}: {reason}", record.label())),
        Ending::Refused(reason) => Some(format!("Refused: {}: {reason}", record.label())),
        Ending::Measured(row) => {
            row.failure.as_ref().map(|failure| format!("FAILED: {}: {failure}", record.label()))
        }
    };
    let mut all: Vec<_> = results.records.iter().filter_map(told).collect();
    for note in results.rows().flat_map(|(_, row)| how_to_read(row)) {
        if !all.contains(&note) {
            all.push(note);
        }
    }
    all
}

/// How many columns follow the parameters.
const COLUMNS: usize = 7;
