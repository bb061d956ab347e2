//! How unevenly the work lies on the workers.

use maud::{Markup, html};

use super::frame::{LEFT, RIGHT, WIDTH, look, place};
use super::scale::{Scale, Spread, mark};
use crate::report::Row;

/// A bar for each worker of each server: its part of the server's CPU time, the
/// busiest first; nothing where there is only one worker.
pub(in super::super) fn imbalance(row: &Row) -> Option<Markup> {
    let groups: Vec<_> = row.systems.iter().filter(|system| system.worker_shares.len() > 1).collect();
    let most = groups.iter().flat_map(|system| &system.worker_shares).copied().max_by(f64::total_cmp)?;
    let bars: usize = row.systems.iter().map(|system| system.worker_shares.len()).sum();
    let height = TOP + bars as f64 * LINE + row.systems.len() as f64 * GAP + BOTTOM;
    let x = Scale::new(Spread::Linear, [0.0, most * 100.0].into_iter(), LABELS, WIDTH - RIGHT);
    let mut y = TOP;
    let title = "CPU time of each worker, of all of the server's";
    Some(html! {
        figure {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
                title { (title) }
                @for value in x.marks() {
                    line.grid x1=(place(x.at(value))) x2=(place(x.at(value))) y1=(TOP) y2=(height - BOTTOM) {}
                    text.mark x=(place(x.at(value))) y=(height - BOTTOM + 16.0) text-anchor="middle" { (mark(value)) " %" }
                }
                @for (index, system) in row.systems.iter().enumerate() {
                    text.label x=(LABELS - 10.0) y=(place(y + LINE - 5.0)) text-anchor="end" { (system.name) }
                    @for share in &system.worker_shares {
                        rect class=(format!("bar {}", look(index))) x=(LABELS) y=(place(y + 2.0)) width=(place(x.at(share * 100.0) - LABELS)) height=(LINE - 4.0) {}
                        @let () = y += LINE;
                    }
                    @let () = y += GAP;
                }
            }
        }
    })
}

const LABELS: f64 = LEFT + 80.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 26.0;
const LINE: f64 = 16.0;
const GAP: f64 = 8.0;
