//! Plots as SVG inside of the page, coloured by its style sheet.
//!
//! `scale` places values on an axis, `frame` draws axes and legends; each other
//! file is one kind of plot.

mod curves;
mod forest;
mod frame;
mod imbalance;
mod percentiles;
mod scale;
mod series;

pub(super) use curves::{Curve, curves};
pub(super) use forest::{Bar, forest};
pub(super) use imbalance::imbalance;
pub(super) use percentiles::percentiles;
pub(super) use series::series;
