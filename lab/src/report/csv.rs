//! Results as CSV, for other programs: a line for each figure of each server of
//! each row, and one without figures for a row that was not measured.

use csv::Writer;

use super::lines::{parameters, values};
use super::{Row, SystemResult};
use crate::experiment::{Ending, Record, Results};
use crate::figures::Figure;

/// The results as text.
///
/// # Errors
/// Never, as long as text can be written to memory.
pub fn of(results: &Results) -> Result<String, csv::Error> {
    let names = parameters(results);
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(names.iter().map(String::as_str).chain(COLUMNS))?;
    for record in &results.records {
        for cells in lines(record) {
            writer.write_record(values(record, &names).into_iter().chain(cells))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn lines(record: &Record) -> Vec<[String; COLUMNS.len()]> {
    match &record.ending {
        Ending::Failed(reason) => vec![without("failed", reason)],
        Ending::Refused(reason) => vec![without("refused", reason)],
        Ending::Measured(row) => {
            let systems = row.systems.iter().enumerate();
            systems.flat_map(|(index, system)| of_system(row, index, system)).collect()
        }
    }
}

fn of_system(row: &Row, index: usize, system: &SystemResult) -> Vec<[String; COLUMNS.len()]> {
    let comparison = index.checked_sub(1).and_then(|index| row.comparisons.get(index));
    let status = if system.failed_slices > 0 { "failed" } else { "measured" };
    let line = |figure: Figure| {
        let ratio = comparison.and_then(|comparison| comparison.ratio(figure));
        let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        [
            status.to_owned(),
            system.name.clone(),
            system.driver.clone(),
            figure.key().to_owned(),
            number(system.figure(figure)),
            comparison.map_or_else(String::new, |comparison| comparison.with.clone()),
            number(ratio.and_then(|ratio| ratio.median)),
            number(ratio.and_then(|ratio| ratio.low)),
            number(ratio.and_then(|ratio| ratio.high)),
            number(ratio.and_then(|ratio| ratio.low_99)),
            number(ratio.and_then(|ratio| ratio.high_99)),
            ratio.map_or_else(String::new, |ratio| ratio.verdict.clone()),
        ]
    };
    row.figures().map(line).collect()
}

fn without(status: &str, reason: &str) -> [String; COLUMNS.len()] {
    let mut cells = [const { String::new() }; COLUMNS.len()];
    status.clone_into(&mut cells[0]);
    reason.clone_into(&mut cells[COLUMNS.len() - 1]);
    cells
}

const COLUMNS: [&str; 12] = [
    "status",
    "server",
    "driver",
    "figure",
    "value",
    "compared_with",
    "ratio",
    "low_95",
    "high_95",
    "low_99",
    "high_99",
    "verdict",
];
