//! Quantiles of Student's t distribution, for any confidence:
//! a correction for many comparisons asks for levels that no table has.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// By how many standard errors an interval of this confidence (0.99 for 99 %)
/// extends to each side, with so many degrees of freedom. With none, nothing is
/// known: infinity.
#[must_use]
pub fn quantile(confidence: f64, freedom: usize) -> f64 {
    standard(freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(f64::midpoint(1.0, confidence)))
}

fn standard(freedom: usize) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom as f64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_books() {
        for (confidence, freedom, book) in [
            (0.95, 1, 12.7062),
            (0.95, 5, 2.5706),
            (0.95, 40, 2.0211),
            (0.99, 5, 4.0321),
            (0.99, 60, 2.6603),
            (0.995, 5, 4.7733),
        ] {
            let found = quantile(confidence, freedom);
            assert!((found - book).abs() < 1e-3, "{confidence} with {freedom}: {found}");
        }
    }

    #[test]
    fn without_a_degree_of_freedom_nothing_is_known() {
        assert_eq!(quantile(0.95, 0), f64::INFINITY);
    }
}
