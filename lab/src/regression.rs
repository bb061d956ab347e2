//! Two results of the same comparisons, an older and a newer: what got worse.
//!
//! They were not run in turn, so their figures cannot be compared as they are:
//! the same server costs a fifth more in one minute than in the next. What can
//! be compared are their ratios to the first server, which is the yardstick and
//! should be one that does not change, such as `epoll`. The interval of a change
//! is made of those of both ratios.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::experiment::{Record, Results};
use crate::figures::Figure;
use crate::report::{Row, log_ratios};
use crate::statistics::{Estimate, Resamples, Verdict, estimate};

/// What changed between two results.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Regression {
    /// One for each server, figure and row that both have.
    pub changes: Vec<Change>,
    /// Rows that were measured before and failed now, with the reason.
    pub broken: Vec<String>,
    /// Rows that only one of the two has.
    pub unmatched: Vec<String>,
}

/// How one ratio changed.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The row.
    pub row: String,
    /// The server.
    pub system: String,
    /// The one that it was compared with, both times.
    pub with: String,
    /// The figure, by [`Figure::key`].
    pub figure: String,
    /// The ratio in the older result.
    pub old: f64,
    /// The ratio in the newer result.
    pub new: f64,
    /// The newer over the older.
    pub change: f64,
    /// The 95 % interval of the change.
    pub interval_95: (f64, f64),
    /// The 99 % interval of the change.
    pub interval_99: (f64, f64),
    /// What it means.
    pub finding: Finding,
}

/// What a change means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Finding {
    /// It got worse: the 99 % interval excludes 1.
    Worse,
    /// It got better, likewise.
    Better,
    /// The 95 % interval lies within a bound around 1.
    Same,
    /// None of these.
    Undecided,
}

impl Regression {
    /// Compares the rows that both results have.
    #[must_use]
    pub fn new(old: &Results, new: &Results) -> Self {
        let pairs: Vec<_> = old
            .records
            .iter()
            .filter_map(|older| Some((older, new.records.iter().find(|newer| is_same(older, newer))?)))
            .collect();
        let both: Vec<_> =
            pairs.iter().filter_map(|(older, newer)| Some((*older, older.row()?, newer.row()?))).collect();
        // All intervals hold at once, as those of one row do.
        let family = both.iter().map(|(_, older, _)| older.comparisons.len()).sum();
        let broken = pairs
            .iter()
            .filter(|(older, _)| older.is_final())
            .filter_map(|(_, newer)| newer.failure().map(|reason| format!("{}: {reason}", named(newer))));
        let alone = |records: &[Record], others: &[Record]| {
            let is_alone = |record: &&Record| !others.iter().any(|other| is_same(record, other));
            records.iter().filter(is_alone).map(named).collect::<Vec<_>>()
        };
        Self {
            changes: both
                .iter()
                .flat_map(|(record, older, newer)| changes(record, older, newer, family))
                .collect(),
            broken: broken.collect(),
            unmatched: [alone(&old.records, &new.records), alone(&new.records, &old.records)].concat(),
        }
    }

    /// The changes for the worse.
    pub fn worse(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.finding == Finding::Worse)
    }
}

/// The same servers under the same load; how much was measured may differ.
fn is_same(one: &Record, other: &Record) -> bool {
    let parameters = |record: &Record| -> Option<serde_json::Value> {
        let mut key: serde_json::Value = serde_json::from_str(&record.key).ok()?;
        key.as_object_mut()?.remove("statistics");
        Some(key)
    };
    match (parameters(one), parameters(other)) {
        (Some(one), Some(other)) => one == other,
        _ => one.key == other.key,
    }
}

fn named(record: &Record) -> String {
    match record.label() {
        label if label.is_empty() => "the only row".to_owned(),
        label => label,
    }
}

fn changes(record: &Record, old: &Row, new: &Row, family: usize) -> Vec<Change> {
    let mut found = Vec::new();
    for (index, comparison) in old.comparisons.iter().enumerate() {
        for figure in CLAIMED {
            let of = |row: &Row| {
                let is_clean = [0, index + 1].iter().all(|&system| row.systems[system].failed_slices == 0);
                let ratios = is_clean.then(|| log_ratios(row, index + 1, figure))?;
                estimate(&ratios, family, Resamples::Thorough, row.environment.seed)
            };
            let (Some(older), Some(newer)) = (of(old), of(new)) else {
                continue;
            };
            let change = over(&newer, &older);
            found.push(Change {
                row: record.label(),
                system: comparison.system.clone(),
                with: comparison.with.clone(),
                figure: figure.key().to_owned(),
                old: older.ratio,
                new: newer.ratio,
                change: change.ratio,
                interval_95: change.interval_95,
                interval_99: change.interval_99,
                finding: finding(figure, &change),
            });
        }
    }
    found
}

/// The ratio of two ratios that were measured apart.
fn over(new: &Estimate, old: &Estimate) -> Estimate {
    let center = new.ratio.ln() - old.ratio.ln();
    let interval = |new: (f64, f64), old: (f64, f64)| {
        let half = |(low, high): (f64, f64)| (high.ln() - low.ln()) / 2.0;
        let half = half(new).hypot(half(old));
        ((center - half).exp(), (center + half).exp())
    };
    Estimate {
        ratio: center.exp(),
        interval_95: interval(new.interval_95, old.interval_95),
        interval_99: interval(new.interval_99, old.interval_99),
        pairs: new.pairs.min(old.pairs),
    }
}

fn finding(figure: Figure, change: &Estimate) -> Finding {
    match Verdict::of(change) {
        Verdict::Differs if (change.ratio > 1.0) == figure.is_better_when_larger() => Finding::Better,
        Verdict::Differs => Finding::Worse,
        Verdict::NoLargerThan { .. } => Finding::Same,
        Verdict::Undecided { .. } => Finding::Undecided,
    }
}

/// The names of the servers that both results use as the yardstick.
#[must_use]
pub fn yardsticks(regression: &Regression) -> BTreeSet<&str> {
    regression.changes.iter().map(|change| change.with.as_str()).collect()
}

/// What is looked at.
const CLAIMED: [Figure; 3] = [Figure::RequestsPerSecond, Figure::PRIMARY, Figure::P99];

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(ratio: f64, half: f64) -> Estimate {
        let interval = |half: f64| ((ratio.ln() - half).exp(), (ratio.ln() + half).exp());
        Estimate { ratio, interval_95: interval(half), interval_99: interval(1.5 * half), pairs: 48 }
    }

    #[test]
    fn the_change_is_as_uncertain_as_both_ratios_together() {
        let change = over(&measured(1.1, 0.03), &measured(1.0, 0.04));
        assert!((change.ratio - 1.1).abs() < 1e-9);
        assert!((change.interval_95.1.ln() - change.interval_95.0.ln() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn whether_more_is_worse_depends_on_the_figure() {
        let more = over(&measured(1.2, 0.01), &measured(1.0, 0.01));
        assert_eq!(finding(Figure::ServerCpu, &more), Finding::Worse);
        assert_eq!(finding(Figure::RequestsPerSecond, &more), Finding::Better);
        let close = over(&measured(1.001, 0.004), &measured(1.0, 0.004));
        assert_eq!(finding(Figure::ServerCpu, &close), Finding::Same);
        let wide = over(&measured(1.2, 0.2), &measured(1.0, 0.2));
        assert_eq!(finding(Figure::ServerCpu, &wide), Finding::Undecided);
    }
}
