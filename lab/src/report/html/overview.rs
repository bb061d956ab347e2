//! The results of many rows side by side: the ratios of all, scaling by workers,
//! and what came of the load that was offered.

use maud::{Markup, html};

use super::plot::{self, Bar, Curve};
use crate::experiment::{Record, Results};
use crate::figures::Figure;
use crate::report::{Comparison, Row};

/// The overview; nothing for a single row.
pub(super) fn of(results: &Results) -> Markup {
    if results.records.len() < 2 {
        return html! {};
    }
    html! {
        section {
            h2 { "All rows" }
            div.plots {
                (ratios(results))
                @for (label, rows) in groups(results, WORKERS) {
                    (plot::curves(
                        &titled("Requests per second by workers", &label),
                        ("workers", "requests/s"),
                        &curves(&rows, Figure::RequestsPerSecond),
                        false,
                    ))
                }
                @for (label, rows) in groups(results, RATE) {
                    (plot::curves(
                        &titled("Throughput by offered load", &label),
                        ("requests/s offered", "requests/s answered"),
                        &curves(&rows, Figure::RequestsPerSecond),
                        true,
                    ))
                    (plot::curves(
                        &titled("p99 by offered load", &label),
                        ("requests/s offered", "p99, us"),
                        &curves(&rows, Figure::P99),
                        false,
                    ))
                }
            }
        }
    }
}

/// The CPU per request of every row.
fn ratios<'a>(results: &'a Results) -> Markup {
    let of_row = |(record, row): (&Record, &'a Row)| {
        let label = record.label();
        let bar = |(index, comparison): (usize, &'a Comparison)| Bar {
            label: format!("{}, {label}", comparison.system),
            system: index + 1,
            ratio: comparison.ratio(Figure::PRIMARY),
        };
        row.comparisons.iter().enumerate().map(bar).collect::<Vec<_>>()
    };
    let bars: Vec<_> = results.rows().flat_map(of_row).collect();
    let first = results.rows().next().and_then(|(_, row)| row.systems.first());
    let title =
        format!("CPU per request over {}", first.map_or("the first server", |system| system.name.as_str()));
    html! { figure { figcaption { (title) } (plot::forest(&title, &bars)) } }
}

/// The rows that differ only in this parameter, with what they have in common;
/// only groups of at least two.
fn groups<'a>(results: &'a Results, parameter: &str) -> Vec<(String, Vec<(f64, &'a Row)>)> {
    let mut groups: Vec<(String, Vec<(f64, &Row)>)> = Vec::new();
    for (record, row) in results.rows() {
        let value = record.varied.iter().find(|varied| varied.name == parameter);
        let Some(Ok(value)) = value.map(|varied| varied.value.parse::<f64>()) else {
            continue;
        };
        let rest: Vec<_> = record
            .varied
            .iter()
            .filter(|varied| varied.name != parameter)
            .map(|varied| format!("{} {}", varied.short_name(), varied.value))
            .collect();
        let label = rest.join(", ");
        match groups.iter_mut().find(|group| group.0 == label) {
            Some(group) => group.1.push((value, row)),
            None => groups.push((label, vec![(value, row)])),
        }
    }
    groups.retain(|group| group.1.len() > 1);
    groups
}

/// A figure of every server over the parameter; rows that failed have no point.
fn curves(rows: &[(f64, &Row)], figure: Figure) -> Vec<Curve> {
    let Some((_, first)) = rows.first() else {
        return Vec::new();
    };
    let curve = |index: usize, name: &str| {
        let point = |&(x, row): &(f64, &Row)| {
            let system = row.systems.get(index).filter(|system| system.failed_slices == 0)?;
            Some((x, system.figure(figure)?))
        };
        let mut points: Vec<_> = rows.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Curve { name: name.to_owned(), points }
    };
    first.systems.iter().enumerate().map(|(index, system)| curve(index, &system.name)).collect()
}

fn titled(what: &str, label: &str) -> String {
    if label.is_empty() { what.to_owned() } else { format!("{what} ({label})") }
}

const WORKERS: &str = "servers.workers";
const RATE: &str = "workload.rate";
