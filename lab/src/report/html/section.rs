//! One row of the results: its figures and its plots.

use maud::{Markup, html};

use super::plot;
use crate::report::accounts::accounts;
use crate::report::words;
use crate::report::{Finding, Ratio, Row};

/// Everything about a row.
pub(super) fn of(label: &str, row: &Row) -> Markup {
    let (placement, notes) = (&row.environment.placement, words::notes(row));
    let how_to_read = words::how_to_read(row);
    html! {
        section {
            h2 { @if label.is_empty() { (words::servers(row)) } @else { (label) } }
            p.load {
                (words::load_of(&row.environment.plan)) "; " (words::statistics(row)) "; " (placement.to_string())
                (words::disturbance(row))
            }
            @for warning in words::warnings(row) { p.failed { (warning) } }
            (table(row))
            @for note in notes.iter().filter(|note| !how_to_read.contains(note)) {
                p class=(if note.starts_with("FAILED") { "failed" } else { "note" }) { (note) }
            }
            div.plots {
                (ratios(row))
                @if let Some(plot) = plot::percentiles(row) { (plot) }
                @if let Some(plot) = plot::series(row) { (plot) }
                @if let Some(plot) = plot::imbalance(row) { (plot) }
            }
        }
    }
}

fn table(row: &Row) -> Markup {
    html! {
        div.wide {
            table {
                thead {
                    tr {
                        th { }
                        @for (index, system) in row.systems.iter().enumerate() {
                            th { (words::side(row, index)) (system.name) br; small { (system.driver) } }
                        }
                        @for comparison in &row.comparisons { th { (comparison.system) " / " (comparison.with) } th.words { "verdict" } }
                    }
                }
                tbody {
                    @for figure in row.figures() {
                        tr {
                            th scope="row" { (figure.label()) }
                            @for system in &row.systems { td { (words::shown(figure, system.figure(figure))) } }
                            @for comparison in &row.comparisons { (ratio(comparison.ratio(figure))) }
                        }
                    }
                    @for account in accounts(row) {
                        tr.account {
                            th scope="row" { (account.label) }
                            @for value in &account.values { td { (value) } }
                            @for _ in &row.comparisons { td { } td.words { } }
                        }
                    }
                    tr {
                        th scope="row" { "lost requests" }
                        @for system in &row.systems { td { (words::lost(system)) } }
                        @for _ in &row.comparisons { td { } td.words { } }
                    }
                }
            }
        }
    }
}

fn ratio(ratio: Option<&Ratio>) -> Markup {
    let class = match ratio.map(|ratio| ratio.finding) {
        Some(Finding::Different) => "words claimed",
        Some(Finding::Failed) => "words failed",
        _ => "words",
    };
    html! {
        td {
            (words::number(ratio.and_then(|ratio| ratio.median))) br;
            small { (words::interval(ratio)) }
        }
        td class=(class) { @if let Some(ratio) = ratio { (ratio.short_verdict()) } }
    }
}

/// All figures of all servers, over those of the first.
fn ratios(row: &Row) -> Markup {
    let of_figure = |figure: crate::figures::Figure| {
        row.comparisons.iter().enumerate().map(move |(index, comparison)| plot::Bar {
            label: match row.comparisons.len() {
                1 => figure.label().to_owned(),
                _ => format!("{}: {}", comparison.system, figure.label()),
            },
            system: index + 1,
            ratio: comparison.ratio(figure),
        })
    };
    let bars: Vec<_> = row.figures().flat_map(of_figure).collect();
    let first = row.systems.first().map_or("the first", |system| system.name.as_str());
    let title = format!("Over {first}");
    html! { figure { figcaption { (title) } (plot::forest(&title, &bars)) } }
}
