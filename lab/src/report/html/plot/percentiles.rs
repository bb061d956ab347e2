//! Latency by percentile, with as much room for each further nine.

use maud::{Markup, html};

use super::frame::{Frame, legend, path};
use super::scale::Spread;
use crate::report::{Percentile, Row};

/// The latencies of all servers of a row; nothing if there are none.
pub(in super::super) fn percentiles(row: &Row) -> Option<Markup> {
    let all: Vec<&Percentile> = row.systems.iter().flat_map(|system| &system.percentiles).collect();
    let last = all.iter().map(|percentile| percentile.percent).max_by(f64::total_cmp)?;
    let frame = Frame::new(
        (Spread::Linear, all.iter().map(|percentile| nines(percentile.percent))),
        (Spread::Logarithmic, all.iter().map(|percentile| percentile.us)),
    );
    let marks = MARKS
        .into_iter()
        .filter(|percent| *percent <= last)
        .map(|percent| (nines(percent), percent.to_string()));
    let inside = html! {
        @for (index, system) in row.systems.iter().enumerate() {
            (path(&system.percentiles.iter().map(|one| frame.at((nines(one.percent), one.us))).collect::<Vec<_>>(), index))
        }
    };
    let names: Vec<_> = row.systems.iter().map(|system| system.name.clone()).collect();
    let plot = frame.draw_with_marks("Latency by percentile", ("percentile", "latency, us"), marks, &inside);
    Some(html! { figure { figcaption { "Latency by percentile" } (plot) (legend(&names)) } })
}

/// One more for each further nine: 0 at 0 %, 1 at 90 %, 2 at 99 %.
fn nines(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).log10()
}

const MARKS: [f64; 7] = [1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
