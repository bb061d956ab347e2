//! The part of a plot that all have in common: its axes, their marks and names,
//! and which server has which look.

use maud::{Markup, html};

use super::scale::{Scale, Spread, mark};

/// A plot with two axes.
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
}

impl Frame {
    pub(super) fn new(
        (x_spread, x_values): (Spread, impl Iterator<Item = f64>),
        (y_spread, y_values): (Spread, impl Iterator<Item = f64>),
    ) -> Self {
        Self {
            x: Scale::new(x_spread, x_values, LEFT, WIDTH - RIGHT),
            y: Scale::new(y_spread, y_values, HEIGHT - BOTTOM, TOP),
        }
    }

    pub(super) fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    /// The plot as an image with what is drawn inside.
    pub(super) fn draw(&self, title: &str, (x_name, y_name): (&str, &str), inside: &Markup) -> Markup {
        let x_marks = self.x.marks().into_iter().map(|value| (value, mark(value)));
        self.draw_with_marks(title, (x_name, y_name), x_marks, inside)
    }

    /// The same with marks of its own on the horizontal axis.
    pub(super) fn draw_with_marks(
        &self,
        title: &str,
        (x_name, y_name): (&str, &str),
        x_marks: impl Iterator<Item = (f64, String)>,
        inside: &Markup,
    ) -> Markup {
        let middle = f64::midpoint(self.y.start(), self.y.end());
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
                title { (title) }
                @for value in self.y.marks() {
                    line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(place(self.y.at(value))) y2=(place(self.y.at(value))) {}
                    text.mark x=(LEFT - 8.0) y=(place(self.y.at(value) + 4.0)) text-anchor="end" { (mark(value)) }
                }
                @for (value, text) in x_marks {
                    line.tick x1=(place(self.x.at(value))) x2=(place(self.x.at(value))) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM + 5.0) {}
                    text.mark x=(place(self.x.at(value))) y=(HEIGHT - BOTTOM + 19.0) text-anchor="middle" { (text) }
                }
                line.axis x1=(LEFT) x2=(WIDTH - RIGHT) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
                text.name x=(f64::midpoint(self.x.start(), self.x.end())) y=(HEIGHT - 6.0) text-anchor="middle" { (x_name) }
                text.name x="14" y=(middle) text-anchor="middle" transform=(format!("rotate(-90 14 {middle})")) { (y_name) }
                (inside)
            }
        }
    }
}

/// A line through the points, with a dot on each if there are few.
pub(super) fn path(points: &[(f64, f64)], system: usize) -> Markup {
    let joined: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    html! {
        polyline class=(format!("path {}", look(system))) points=(joined.join(" ")) {}
        @if points.len() <= DOTS_MAX {
            @for point in points { (dot(*point, system)) }
        }
    }
}

pub(super) fn dot((x, y): (f64, f64), system: usize) -> Markup {
    html! { circle class=(format!("dot {}", look(system))) cx=(place(x)) cy=(place(y)) r="3.2" {} }
}

/// Which server has which colour; a plot without lines to tell apart has none.
pub(super) fn legend(names: &[String]) -> Markup {
    html! {
        ul.legend {
            @for (system, name) in names.iter().enumerate() {
                li {
                    svg.key viewBox="0 0 28 10" aria-hidden="true" {
                        line class=(format!("path {}", look(system))) x1="1" x2="27" y1="5" y2="5" {}
                        (dot((14.0, 5.0), system))
                    }
                    (name)
                }
            }
        }
    }
}

/// The class of a server's marks.
pub(super) fn look(system: usize) -> String {
    format!("s{}", system % LOOKS)
}

/// A place on the paper, to a tenth.
pub(super) fn place(value: f64) -> String {
    format!("{value:.1}")
}

pub(super) const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
pub(super) const LEFT: f64 = 68.0;
pub(super) const RIGHT: f64 = 24.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;
/// More than this are a cloud.
const DOTS_MAX: usize = 24;
/// How many different looks the style sheet has.
const LOOKS: usize = 10;
