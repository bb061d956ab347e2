//! The slices in the order in which they were run.

use maud::{Markup, html};

use super::frame::{Frame, dot, legend, place};
use super::scale::Spread;
use crate::figures::Figure;
use crate::report::Row;

/// The CPU time per request of each slice, with a line where the servers were
/// started anew; nothing if there are no slices.
pub(in super::super) fn series(row: &Row) -> Option<Markup> {
    let key = Figure::PRIMARY.key();
    let of_round = |(index, sample): (usize, &crate::report::Sample)| {
        let values = sample.systems.iter().enumerate();
        let point = |(system, values): (usize, &Option<crate::report::Values>)| {
            Some((system, index as f64 + 1.0, values.as_ref()?.get(key).copied().flatten()?))
        };
        values.filter_map(point).collect::<Vec<_>>()
    };
    let points: Vec<_> = row.samples.iter().enumerate().flat_map(of_round).collect();
    if points.is_empty() {
        return None;
    }
    let frame = Frame::new(
        (Spread::Linear, points.iter().map(|point| point.1)),
        (Spread::Linear, points.iter().map(|point| point.2)),
    );
    let restarts = row.samples.windows(2).enumerate().filter(|(_, two)| two[0].restart != two[1].restart);
    let restarts: Vec<_> = restarts.map(|(index, _)| frame.x.at(index as f64 + 1.5)).collect();
    let inside = html! {
        @for x in &restarts {
            line.restart x1=(place(*x)) x2=(place(*x)) y1=(place(frame.y.start())) y2=(place(frame.y.end())) {}
        }
        @for (system, x, y) in &points { (dot(frame.at((*x, *y)), *system)) }
    };
    let names: Vec<_> = row.systems.iter().map(|system| system.name.clone()).collect();
    let title = "CPU per request, slice by slice";
    let plot = frame.draw(title, ("pair; a line is a restart", "server CPU per request, us"), &inside);
    Some(html! { figure { figcaption { (title) } (plot) (legend(&names)) } })
}
