//! Ratios with their intervals, a line for each, around the line of no
//! difference.

use maud::{Markup, html};

use super::frame::{look, place};
use super::scale::{Scale, Spread, mark};
use crate::report::{Finding, Ratio};

/// One ratio.
pub(in super::super) struct Bar<'a> {
    /// What it is the ratio of.
    pub(in super::super) label: String,
    /// Whose look it has.
    pub(in super::super) system: usize,
    /// The ratio, if there is one.
    pub(in super::super) ratio: Option<&'a Ratio>,
}

/// The ratios under each other: a thick line for the 95 % interval, a thin one
/// for the 99 % interval, hollow where no difference is claimed.
pub(in super::super) fn forest(title: &str, bars: &[Bar<'_>]) -> Markup {
    let ends = bars.iter().filter_map(|bar| bar.ratio).flat_map(ends);
    let x = Scale::new(Spread::Logarithmic, ends.chain([0.96, 1.0 / 0.96]), LABELS, WIDTH - VALUES);
    let height = TOP + bars.len() as f64 * LINE + BOTTOM;
    let floor = height - BOTTOM;
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
            title { (title) }
            rect.same x=(place(x.at(0.99))) width=(place(x.at(1.01) - x.at(0.99))) y=(TOP) height=(place(floor - TOP)) {}
            @for value in x.marks() {
                line.grid x1=(place(x.at(value))) x2=(place(x.at(value))) y1=(TOP) y2=(floor) {}
                text.mark x=(place(x.at(value))) y=(floor + 16.0) text-anchor="middle" { (mark(value)) }
            }
            line.one x1=(place(x.at(1.0))) x2=(place(x.at(1.0))) y1=(TOP) y2=(floor) {}
            @for (index, bar) in bars.iter().enumerate() {
                (line(bar, TOP + (index as f64 + 0.5) * LINE, &x))
            }
        }
    }
}

fn line(bar: &Bar<'_>, y: f64, x: &Scale) -> Markup {
    let (label, value) = (shortened(&bar.label), value(bar.ratio));
    let claimed = bar.ratio.is_some_and(|ratio| ratio.finding == Finding::Different);
    let class = format!("{} {}", look(bar.system), if claimed { "claimed" } else { "open" });
    let drawn = bar.ratio.and_then(|ratio| Some((ratio, ratio.bounds()?)));
    html! {
        text.label x=(LABELS - 10.0) y=(y + 4.0) text-anchor="end" { title { (bar.label) } (label) }
        @if let Some((ratio, (low, median, high))) = drawn {
            @if let (Some(low), Some(high)) = (ratio.low_99, ratio.high_99) {
                line class=(format!("outer {class}")) x1=(place(x.at(low))) x2=(place(x.at(high))) y1=(place(y)) y2=(place(y)) {}
            }
            line class=(format!("interval {class}")) x1=(place(x.at(low))) x2=(place(x.at(high))) y1=(place(y)) y2=(place(y)) {}
            circle class=(format!("ratio {class}")) cx=(place(x.at(median))) cy=(place(y)) r="4.5" {}
        }
        text.value x=(WIDTH) y=(y + 4.0) text-anchor="end" { (value) }
    }
}

fn value(ratio: Option<&Ratio>) -> String {
    match ratio {
        None => "not measured".to_owned(),
        Some(ratio) => match ratio.bounds() {
            Some((low, median, high)) => format!("{median:.3} [{low:.3}, {high:.3}]"),
            None => ratio.short_verdict().split(':').next().unwrap_or_default().to_owned(),
        },
    }
}

/// Both ends of the wider interval, as far as the axis is to go.
fn ends(ratio: &Ratio) -> [f64; 2] {
    match (ratio.bounds(), ratio.low_99, ratio.high_99) {
        (Some(_), Some(low), Some(high)) => [low.max(FARTHEST.recip()), high.min(FARTHEST)],
        _ => [1.0, 1.0],
    }
}

fn shortened(label: &str) -> String {
    match label.char_indices().nth(LABEL_CHARACTERS) {
        Some((end, _)) => format!("{}\u{2026}", &label[..end - 1]),
        None => label.to_owned(),
    }
}

const WIDTH: f64 = 760.0;
/// Room for the labels on the left, and for the numbers on the right.
const LABELS: f64 = 280.0;
const VALUES: f64 = 160.0;
const LABEL_CHARACTERS: usize = 38;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 24.0;
const LINE: f64 = 24.0;
/// A ratio beyond this is at the edge.
const FARTHEST: f64 = 4.0;
