//! Reports as a person reads them on a terminal.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::accounts::accounts;
use super::lines::Lines;
use super::words::{
    count, disturbance, interval, load_of, lost, machine, notes, number, servers, shown, statistics, warnings,
};
use super::{CapacityReport, LoadReport, Row};
use crate::experiment::Results;
use crate::figures::Figure;
use crate::regression::{Finding as Changed, Regression, yardsticks};

/// A comparison: what was run where, a row per figure, and what the clients
/// cost.
#[must_use]
pub fn row(row: &Row) -> String {
    let mut text = servers(row);
    let placement = &row.environment.placement;
    let _ = write!(
        text,
        "\n{}; {}\n{}; {placement}",
        load_of(&row.environment.plan),
        statistics(row),
        machine(&row.environment.machine)
    );
    text.push_str(&disturbance(row));
    for warning in warnings(row) {
        let _ = write!(text, "\n!! {}", warning.to_uppercase());
    }
    let figures = if row.systems.len() == 2 { pair(row) } else { many(row) };
    let _ = write!(text, "\n\n{figures}\n");
    for note in notes(row) {
        let _ = write!(text, "\n{note}");
    }
    text
}

/// All rows of an experiment, a line for each server; a single row as of
/// [`row`].
#[must_use]
pub fn results(results: &Results) -> String {
    if let [record] = results.records.as_slice()
        && let Some(measured) = record.row()
    {
        return row(measured);
    }
    let lines = Lines::of(results);
    let mut table = new_table();
    table.set_header(&lines.header);
    let mut last = &[][..];
    for line in &lines.lines {
        let repeats = line.parameters.as_slice() == last;
        let parameters = line.parameters.iter().map(|value| if repeats { "" } else { value.as_str() });
        table.add_row(parameters.chain(line.cells.iter().map(String::as_str)));
        last = &line.parameters;
    }
    align_numbers(&mut table, lines.numbers());
    let mut text = format!("{}\n\n{table}\n", results.heading.title);
    for note in lines.notes {
        let _ = write!(text, "\n{note}");
    }
    text
}

/// The rates that were tried, and the highest one that kept the promise.
#[must_use]
pub fn capacity(report: &CapacityReport) -> String {
    let capacity = &report.capacity;
    let mut table = new_table();
    table.set_header([
        "planned/s",
        "answered/s",
        &format!("p{}, us", capacity.slo.percent),
        "unsent",
        "kept",
    ]);
    for step in &capacity.steps {
        table.add_row([
            format!("{:.0}", step.rate),
            format!("{:.0}", step.requests_per_second),
            format!("{:.1}", step.latency_us),
            step.unsent.to_string(),
            if step.kept { "yes" } else { "no" }.to_owned(),
        ]);
    }
    align_numbers(&mut table, 0..4);
    let found = match capacity.highest_rate {
        Some(rate) => format!("highest rate with {}: {rate:.0} requests/s", capacity.slo),
        None => format!("no rate keeps {}", capacity.slo),
    };
    format!("{}\n{}\n\n{table}\n\n{found}", report.address, machine(&report.environment))
}

/// What changed between two results.
#[must_use]
pub fn regression(regression: &Regression) -> String {
    let mut table = new_table();
    table.set_header(["row", "server", "figure", "old", "new", "new/old", "95 % interval", ""]);
    for change in &regression.changes {
        let figure = Figure::of_key(&change.figure).map_or(change.figure.as_str(), |figure| figure.label());
        let (low, high) = change.interval_95;
        table.add_row([
            change.row.clone(),
            format!("{}/{}", change.system, change.with),
            figure.to_owned(),
            format!("{:.3}", change.old),
            format!("{:.3}", change.new),
            format!("{:.3}", change.change),
            format!("{low:.3} .. {high:.3}"),
            match change.finding {
                Changed::Worse => "WORSE",
                Changed::Better => "better",
                Changed::Same => "same",
                Changed::Undecided => "undecided",
            }
            .to_owned(),
        ]);
    }
    align_numbers(&mut table, 3..7);
    let mut text = table.to_string();
    for broken in &regression.broken {
        let _ = write!(text, "\nFAILED now: {broken}");
    }
    for row in &regression.unmatched {
        let _ = write!(text, "\nOnly in one of the two: {row}");
    }
    let yardsticks: Vec<_> = yardsticks(regression).into_iter().collect();
    let _ = write!(
        text,
        "\nThe two were run at different times, so ratios are compared, with {} as the yardstick; all intervals \
         hold at once.",
        yardsticks.join(", ")
    );
    text
}

/// A load: what was asked for and what came of it.
#[must_use]
pub fn load(report: &LoadReport) -> String {
    let mut table = new_table();
    table.set_header(["", report.address.as_str()]);
    for figure in Figure::ALL {
        if let Some(value) = report.figures.get(figure.key()) {
            table.add_row([figure.label().to_owned(), shown(figure, *value)]);
        }
    }
    table.add_row(["requests".to_owned(), report.requests.to_string()]);
    let rare = [
        ("unsent requests", report.unsent),
        ("waiting connections", report.waiting as u64),
        ("refused connections", report.refused),
    ];
    for (what, number) in rare.into_iter().filter(|(_, number)| *number > 0) {
        table.add_row([what.to_owned(), number.to_string()]);
    }
    table.add_row(["lost requests".to_owned(), report.errors.to_string()]);
    align_numbers(&mut table, 1..2);
    format!(
        "{} x {} B on {}\n{}\n\n{table}",
        count(report.connections, "connection"),
        report.bytes,
        count(report.threads, "thread"),
        machine(&report.environment),
    )
}

/// Two servers side by side.
fn pair(row: &Row) -> Table {
    let mut table = new_table();
    let name = |side: &str, system: usize| format!("{side} {}", row.systems[system].name);
    table.set_header(["", &name("A", 0), &name("B", 1), "B/A", "95 % interval", "verdict"]);
    for figure in row.figures() {
        let ratio = row.comparisons[0].ratio(figure);
        table.add_row([
            figure.label().to_owned(),
            shown(figure, row.systems[0].figure(figure)),
            shown(figure, row.systems[1].figure(figure)),
            number(ratio.and_then(|ratio| ratio.median)),
            interval(ratio),
            ratio.map_or_else(String::new, |ratio| ratio.short_verdict()),
        ]);
    }
    for account in accounts(row) {
        table.add_row([account.label].into_iter().chain(account.values.iter().map(String::as_str)));
    }
    table.add_row(["lost requests", &lost(&row.systems[0]), &lost(&row.systems[1])]);
    align_numbers(&mut table, 1..5);
    table
}

/// Each server under the first one, figure by figure.
fn many(row: &Row) -> Table {
    let mut table = new_table();
    table.set_header(["", "server", "", "ratio", "95 % interval", "verdict"]);
    for figure in row.figures() {
        for (index, system) in row.systems.iter().enumerate() {
            let comparison = index.checked_sub(1).and_then(|index| row.comparisons.get(index));
            let ratio = comparison.and_then(|comparison| comparison.ratio(figure));
            table.add_row([
                if index == 0 { figure.label().to_owned() } else { String::new() },
                system.name.clone(),
                shown(figure, system.figure(figure)),
                ratio.map_or_else(String::new, |ratio| number(ratio.median)),
                ratio.map_or_else(String::new, |ratio| interval(Some(ratio))),
                ratio.map_or_else(String::new, |ratio| ratio.short_verdict()),
            ]);
        }
    }
    for account in accounts(row) {
        for (index, (system, value)) in row.systems.iter().zip(&account.values).enumerate() {
            table.add_row([if index == 0 { account.label } else { "" }, &system.name, value]);
        }
    }
    for (index, system) in row.systems.iter().enumerate() {
        let label = if index == 0 { "lost requests" } else { "" };
        table.add_row([label, &system.name, &lost(system)]);
    }
    align_numbers(&mut table, 2..5);
    table
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
    table
}

fn align_numbers(table: &mut Table, columns: std::ops::Range<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

const LINE: LineStyle = LineStyle::none().fill('─').junction('─');
const STYLE: TableStyle = TableStyle::new().top_border(LINE).header_separator(LINE).bottom_border(LINE);
