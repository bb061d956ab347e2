//! Reports as a person reads them.

use std::fmt::Write;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::{LoadReport, Ratio, Report, Side};
use crate::environment::Machine;
use crate::figures::Figure;

/// A comparison: what was run where, a row per figure, and what the clients
/// cost.
#[must_use]
pub fn comparison(report: &Report) -> String {
    let mut text = header(report);
    for warning in &report.environment.placement.warnings {
        let _ = write!(text, "\n!! {}", warning.to_uppercase());
    }
    let _ = write!(text, "\n\n{}\n", figures(report));
    for note in notes(report) {
        let _ = write!(text, "\n{note}");
    }
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

fn header(report: &Report) -> String {
    let plan = &report.environment.plan;
    let mut text =
        format!("A = {} ({}), B = {} ({})\n", report.a.name, report.a.driver, report.b.name, report.b.driver);
    let (connections, workers) = (count(plan.connections, "connection"), count(plan.workers, "worker"));
    let _ = write!(text, "{connections} x {} B, {workers}", plan.bytes);
    if plan.requests_per_connection > 0 {
        let _ = write!(text, ", a new connection after {} requests", plan.requests_per_connection);
    }
    if let Some(limit) = plan.limit {
        let _ = write!(text, ", limit {limit}");
    }
    if let Some(policy) = &plan.placement_policy {
        let _ = write!(text, ", placement {policy}");
    }
    let _ = write!(
        text,
        "; {} pairs of 2 x {} s, {} restarts, seed {}\n{}; {}",
        plan.pairs,
        plan.slice_seconds,
        plan.restarts,
        report.environment.seed,
        machine(&report.environment.machine),
        report.environment.placement,
    );
    if let Some(steal) = report.environment.steal_percent {
        let _ = write!(text, "; steal {steal:.1} %");
    }
    text
}

fn machine(machine: &Machine) -> String {
    let versions: Vec<_> =
        machine.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!(
        "{}{}\n{}, {}, Linux {}, TCP {}",
        versions.join(", "),
        machine.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {commit}")),
        machine.cpu,
        count(machine.cores.len(), "core"),
        machine.kernel,
        machine.congestion_control,
    )
}

fn figures(report: &Report) -> Table {
    let mut table = new_table();
    table.set_header([
        "",
        &format!("A {}", report.a.name),
        &format!("B {}", report.b.name),
        "B/A",
        "95 % interval",
        "verdict",
    ]);
    for figure in Figure::ALL {
        let value = |side: &Side| shown(figure, side.figures.get(figure.key()).copied().flatten());
        let (ratio, interval, verdict) = match report.ratios.get(figure.key()) {
            Some(ratio) => (number(ratio.median), interval(ratio), verdict(ratio, report)),
            None => (number(None), number(None), String::new()),
        };
        table.add_row([
            figure.label().to_owned(),
            value(&report.a),
            value(&report.b),
            ratio,
            interval,
            verdict,
        ]);
    }
    table.add_row(["lost requests", &lost(&report.a), &lost(&report.b)]);
    align_numbers(&mut table, 1..5);
    table
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(failure) = &report.failure {
        notes.push(format!("FAILED: {failure}"));
    }
    let cost = |side: &Side| {
        let value = |figure: Figure| side.figures.get(figure.key()).copied().flatten();
        Some(value(Figure::ClientCpu)? / value(Figure::ServerCpu)?)
    };
    if let (Some(a), Some(b)) = (cost(&report.a), cost(&report.b)) {
        notes
            .push(format!("Per request the clients cost {a:.2} of what A costs and {b:.2} of what B costs."));
        if a.max(b) > 1.0 {
            notes.push("The clients, not the server, may limit requests/s.".to_owned());
        }
    }
    notes.push(
        "A ratio is the median over the pairs; a difference is claimed only where the 99 % \
         interval excludes 1."
            .to_owned(),
    );
    notes
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

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn shown(figure: Figure, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| figure.show(value))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

fn interval(ratio: &Ratio) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) if high < 100.0 => format!("{low:.3} .. {high:.3}"),
        (Some(low), _) => format!("{low:.3} .. any"),
        _ => "-".to_owned(),
    }
}

/// The reason of a failure stands once below the table, not in every row.
fn verdict(ratio: &Ratio, report: &Report) -> String {
    match report.failure {
        Some(_) => "FAILED".to_owned(),
        None => ratio.verdict.clone(),
    }
}

fn lost(side: &Side) -> String {
    match side.failed_slices {
        0 => side.errors.to_string(),
        failed => format!("{} in {failed} of {} slices", side.errors, side.slices),
    }
}

const LINE: LineStyle = LineStyle::none().fill('─').junction('─');
const STYLE: TableStyle = TableStyle::new().top_border(LINE).header_separator(LINE).bottom_border(LINE);
