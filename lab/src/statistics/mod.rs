//! From pairs of slices to an estimate with intervals and a verdict. No input,
//! no output, no clock; the same samples and seed give the same result.
//!
//! # The method
//!
//! A and B run in neighbouring slices, so that whatever the machine does slowly
//! happens to both, and only the logarithm of their ratio is looked at. The
//! estimate is the median over all pairs: a pair that met a disturbance cannot
//! move it.
//!
//! Pairs of one restart have more in common than pairs of different restarts,
//! because address layout, ports and the distribution of connections are drawn
//! anew with each process. So the number of restarts limits what can be known,
//! however many slices are taken. The [`bootstrap`] resamples restarts first
//! and pairs inside of them second. Taken as it is, that has two errors with
//! few restarts:
//!
//! * it counts the spread of the pairs twice, since that is in the spread of
//!   the restarts already; the variance of a second bootstrap, which keeps the
//!   restarts and resamples only the pairs, is subtracted for that;
//! * it is too narrow: a sample of `n` restarts varies by `(n - 1) / n` of the
//!   population, and the percentiles of a few values are no tails. The variance
//!   is multiplied by `n / (n - 1)`, and the interval is the estimate plus and
//!   minus a quantile of [Student's t](student) with `n - 1` degrees of freedom
//!   times the standard error.
//!
//! The standard error is never taken to be less than what the pairs alone make
//! it. With six restarts the 95 % interval is thereby 2.57 instead of 1.96
//! standard errors to each side, the 99 % interval 4.03 instead of 2.58.
//!
//! # More than two servers
//!
//! Each is compared with the first, and then the chance that some ratio is
//! wrong grows with their number. The intervals are made wide enough that all
//! of them hold at once (Bonferroni: with `k` ratios each has a confidence of
//! 1 - 0.05 / k, or 1 - 0.01 / k). Holm's steps would find a little more, but
//! have no intervals of their own, and a verdict that its interval contradicts
//! is worth nothing. The figures of one comparison (requests per second, CPU,
//! percentiles) are not corrected against each other: the one that a claim
//! should rest on is the CPU time per request.
//!
//! # When to stop
//!
//! A run has a number of pairs, or goes on [until its interval is
//! narrow](stopping). It never looks at where the interval lies, so that what
//! it finds is not what made it stop. [`power`] says in advance how much has to
//! be run to find a difference.

pub mod bootstrap;
pub mod power;
#[cfg(test)]
mod simulated;
pub mod stopping;
pub mod student;
pub mod verdict;

pub use bootstrap::{Estimate, Resamples, estimate};
pub use power::{Cost, Design};
pub use stopping::Precision;
pub use verdict::Verdict;
