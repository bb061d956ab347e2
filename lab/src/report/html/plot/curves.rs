//! One value over another, a curve for each server.

use maud::{Markup, html};

use super::frame::{Frame, legend, path, place};
use super::scale::{Spread, mark};

/// The points of one server.
pub(in super::super) struct Curve {
    /// Its name.
    pub(in super::super) name: String,
    /// What it was measured at, and what came of it.
    pub(in super::super) points: Vec<(f64, f64)>,
}

/// The curves in one plot. With `ideal`, the line on which both are equal is
/// drawn too. The vertical axis begins at zero.
pub(in super::super) fn curves(title: &str, names: (&str, &str), curves: &[Curve], ideal: bool) -> Markup {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let frame = Frame::new(
        (Spread::Linear, all().map(|point| point.0)),
        (Spread::Linear, all().map(|point| point.1).chain([0.0])),
    );
    let most = all().map(|point| point.0.min(point.1)).fold(0.0, f64::max);
    let least = all().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let inside = html! {
        @if ideal && least < most {
            @let ((x1, y1), (x2, y2)) = (frame.at((least, least)), frame.at((most, most)));
            line.one x1=(place(x1)) y1=(place(y1)) x2=(place(x2)) y2=(place(y2)) {}
        }
        @for (index, curve) in curves.iter().enumerate() {
            (path(&curve.points.iter().map(|point| frame.at(*point)).collect::<Vec<_>>(), index))
        }
    };
    let mut measured: Vec<_> = all().map(|point| point.0).collect();
    measured.sort_by(f64::total_cmp);
    measured.dedup();
    let marks = measured.into_iter().map(|value| (value, mark(value)));
    let plot = frame.draw_with_marks(title, names, marks, &inside);
    let servers: Vec<_> = curves.iter().map(|curve| curve.name.clone()).collect();
    html! {
        figure { figcaption { (title) } (plot) (legend(&servers)) }
    }
}
