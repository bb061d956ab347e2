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

pub mod bootstrap;
pub mod student;
pub mod verdict;

pub use bootstrap::{Estimate, Resamples, estimate};
pub use verdict::Verdict;
