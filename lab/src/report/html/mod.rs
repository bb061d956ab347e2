//! Results as one page: tables and plots, light or dark as the reader's system
//! is, legible when printed. It asks nothing of any network and has no script.

mod overview;
mod plot;
mod section;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::words;
use crate::experiment::{Ending, Record, Results};

/// The page.
#[must_use]
pub fn of(results: &Results) -> String {
    let heading = &results.heading;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (heading.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (heading.title) }
                    @if !heading.about.is_empty() { p { (heading.about) } }
                    (machine(results))
                }
                main {
                    (overview::of(results))
                    @for record in &results.records { (of_record(record)) }
                }
                footer { (reading(results)) }
            }
        }
    };
    page.into_string()
}

fn of_record(record: &Record) -> Markup {
    let label = record.label();
    let said = |class: &str, word: &str, reason: &str| {
        html! {
            section {
                h2 { (label) }
                p class=(class) { strong { (word) } " " (reason) }
            }
        }
    };
    match &record.ending {
        Ending::Measured(row) => section::of(&label, row),
        Ending::Failed(reason) => said("failed", "Failed:", reason),
        Ending::Refused(reason) => said("refused", "Not run on this machine:", reason),
    }
}

/// The machine of the first row; others are told in their sections.
fn machine(results: &Results) -> Markup {
    let Some((_, row)) = results.rows().next() else {
        return html! { p.machine { "No row was measured." } };
    };
    let text = words::machine(&row.environment.machine);
    html! { p.machine { @for line in text.lines() { (line) br; } } }
}

fn reading(results: &Results) -> Markup {
    let mut notes: Vec<String> = Vec::new();
    for note in results.rows().flat_map(|(_, row)| words::how_to_read(row)) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    html! {
        @for note in notes { p { (note) } }
        p {
            "In the plots of ratios a thick line is the 95 % interval, a thin one the 99 % interval; a filled dot \
             is a difference that is claimed, a hollow one is none; within the grey band a difference is less than 1 %."
        }
    }
}

const STYLE: &str = include_str!("style.css");
