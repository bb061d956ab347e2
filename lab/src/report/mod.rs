//! What a run is told as. A finished comparison is a [`Row`], a finished load a
//! [`LoadReport`], a search for the highest rate a [`CapacityReport`]; all are
//! written as JSON as they are, that of `ab` as a [`Pair`]. [`table`] shows them on
//! a terminal, [`csv`] is for other programs, [`markdown`] for documents, [`html`]
//! a page with plots; [`progress`] is shown meanwhile.

mod accounts;
pub mod csv;
pub mod html;
mod lines;
mod load;
pub mod markdown;
mod pair;
pub mod progress;
mod ratio;
mod row;
pub mod table;
mod words;

use std::collections::BTreeMap;

use crate::figures::{Figure, Figures};

pub use lines::line;
pub use load::{CapacityReport, LoadReport};
pub use pair::Pair;
pub use ratio::{Finding, Ratio};
pub use row::{Comparison, Environment, Percentile, Row, Sample, SystemResult, log_ratios};

/// Values of figures by [`Figure::key`]; those that could not be measured are
/// null in the JSON.
pub type Values = BTreeMap<String, Option<f64>>;

fn by_key(figures: Option<Figures>) -> Values {
    let value = |figure| figures.and_then(|figures: Figures| figures.value(figure));
    Figure::ALL.into_iter().map(|figure| (figure.key().to_owned(), value(figure))).collect()
}
