//! Quantiles of Student's t distribution.

/// How sure an interval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confidence {
    /// 95 %.
    P95,
    /// 99 %.
    P99,
}

/// By how many standard errors an interval extends to each side, with so many
/// degrees of freedom. With none, nothing is known: infinity.
#[must_use]
pub fn quantile(confidence: Confidence, freedom: usize) -> f64 {
    let (table, normal) = match confidence {
        Confidence::P95 => (&TWO_SIDED_95, NORMAL_95),
        Confidence::P99 => (&TWO_SIDED_99, NORMAL_99),
    };
    match freedom {
        0 => f64::INFINITY,
        _ => table.get(freedom - 1).copied().unwrap_or_else(|| beyond_table(normal, freedom)),
    }
}

/// The expansion of Cornish and Fisher, good to four digits there.
fn beyond_table(normal: f64, freedom: usize) -> f64 {
    let freedom = freedom as f64;
    let (z3, z5) = (normal.powi(3), normal.powi(5));
    normal
        + (z3 + normal) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * normal) / (96.0 * freedom * freedom)
}

const NORMAL_95: f64 = 1.959_964;
const NORMAL_99: f64 = 2.575_829;

const TWO_SIDED_95: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
    2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555,
    2.0518, 2.0484, 2.0452, 2.0423,
];

const TWO_SIDED_99: [f64; 30] = [
    63.6567, 9.9248, 5.8409, 4.6041, 4.0321, 3.7074, 3.4995, 3.3554, 3.2498, 3.1693, 3.1058, 3.0545, 3.0123,
    2.9768, 2.9467, 2.9208, 2.8982, 2.8784, 2.8609, 2.8453, 2.8314, 2.8188, 2.8073, 2.7969, 2.7874, 2.7787,
    2.7707, 2.7633, 2.7564, 2.7500,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_towards_the_normal_quantile() {
        for confidence in [Confidence::P95, Confidence::P99] {
            for freedom in 1..200 {
                assert!(quantile(confidence, freedom) > quantile(confidence, freedom + 1));
            }
        }
        assert!((quantile(Confidence::P95, 1_000_000) - NORMAL_95).abs() < 1e-4);
    }

    #[test]
    fn beyond_the_table_it_agrees_with_the_books() {
        assert!((quantile(Confidence::P95, 40) - 2.0211).abs() < 1e-3);
        assert!((quantile(Confidence::P99, 60) - 2.6603).abs() < 1e-3);
    }
}
