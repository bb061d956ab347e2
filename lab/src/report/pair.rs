//! The JSON of `ab`: a row in which A and B, and the ratios of B to A, can be
//! found under these names too.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Ratio, Row, SystemResult};

/// A row, and the names of the command line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pair<'a> {
    #[serde(flatten)]
    row: &'a Row,
    a: Option<&'a SystemResult>,
    b: Option<&'a SystemResult>,
    ratios: Option<&'a BTreeMap<String, Ratio>>,
}

impl<'a> Pair<'a> {
    /// The first two servers of the row as A and B.
    #[must_use]
    pub fn of(row: &'a Row) -> Self {
        Self {
            row,
            a: row.systems.first(),
            b: row.systems.get(1),
            ratios: row.comparisons.first().map(|comparison| &comparison.ratios),
        }
    }
}
