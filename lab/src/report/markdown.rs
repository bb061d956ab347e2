//! Results as Markdown, for documents.

use std::fmt::Write;

use super::Row;
use super::accounts::accounts;
use super::lines::Lines;
use super::words::{self, count, interval, number, shown};
use crate::experiment::Results;

/// The results with their machine and how to read them.
#[must_use]
pub fn of(results: &Results) -> String {
    let heading = &results.heading;
    let mut text = format!("# {}\n", heading.title);
    if !heading.about.is_empty() {
        let _ = write!(text, "\n{}\n", heading.about.trim());
    }
    match results.records.as_slice() {
        [record] => record.row().into_iter().for_each(|row| single(row, &mut text)),
        _ => many(results, &mut text),
    }
    if let Some((_, row)) = results.rows().next() {
        let machine = words::machine(&row.environment.machine).replace('\n', ". ");
        let _ = write!(text, "\n{machine}; {}.\n", row.environment.placement);
    }
    text
}

/// One comparison: a line for each figure of each server.
fn single(row: &Row, text: &mut String) {
    let _ = write!(
        text,
        "\n{}; {}; {}.\n\n",
        words::servers(row),
        words::load_of(&row.environment.plan),
        words::statistics(row)
    );
    line(text, &["figure", "server", "value", "ratio", "95 % interval", "verdict"].map(str::to_owned));
    rule(text, 6);
    for figure in row.figures() {
        for (index, system) in row.systems.iter().enumerate() {
            let comparison = index.checked_sub(1).and_then(|index| row.comparisons.get(index));
            let ratio = comparison.and_then(|comparison| comparison.ratio(figure));
            let cells = [
                if index == 0 { figure.label().to_owned() } else { String::new() },
                system.name.clone(),
                shown(figure, system.figure(figure)),
                ratio.map_or_else(String::new, |ratio| number(ratio.median)),
                ratio.map_or_else(String::new, |ratio| interval(Some(ratio))),
                ratio.map_or_else(String::new, |ratio| ratio.short_verdict()),
            ];
            line(text, &cells);
        }
    }
    for account in accounts(row) {
        for (index, (system, value)) in row.systems.iter().zip(&account.values).enumerate() {
            let label = if index == 0 { account.label } else { "" };
            line(text, &[label, &system.name, value, "", "", ""].map(str::to_owned));
        }
    }
    for note in words::notes(row) {
        let _ = write!(text, "\n{note}\n");
    }
}

/// Many rows: a line for each server of each.
fn many(results: &Results, text: &mut String) {
    let lines = Lines::of(results);
    let _ = write!(text, "\n{}.\n\n", count(results.records.len(), "row"));
    line(text, &lines.header);
    rule(text, lines.header.len());
    for one in &lines.lines {
        line(text, &[one.parameters.clone(), one.cells.clone()].concat());
    }
    for note in lines.notes {
        let _ = write!(text, "\n{note}\n");
    }
}

fn line(text: &mut String, cells: &[String]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn rule(text: &mut String, columns: usize) {
    let _ = writeln!(text, "|{}", "---|".repeat(columns));
}
