//! What was used, for each request.

use serde::{Deserialize, Serialize};

use super::{Counted, Spent};

/// What a server, or its clients, used for each request; what could not be
/// counted is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PerRequest {
    /// CPU time in the program, in microseconds, to a hundredth of a second over
    /// all slices.
    pub user_us: f64,
    /// CPU time in the kernel, in microseconds, likewise.
    pub system_us: f64,
    /// Context switches because there was nothing to do.
    pub voluntary_switches: f64,
    /// Context switches because somebody else had something to do.
    pub involuntary_switches: f64,
    /// Page faults that needed no disk.
    pub minor_faults: f64,
    /// Page faults that needed a disk.
    pub major_faults: f64,
    /// System calls, counted while the server warmed up.
    pub system_calls: Option<f64>,
    /// Instructions, user and kernel.
    pub instructions: Option<f64>,
    /// Cycles of the core.
    pub cycles: Option<f64>,
    /// Misses of the last cache.
    pub cache_misses: Option<f64>,
    /// Branches that were predicted wrongly.
    pub branch_misses: Option<f64>,
}

impl PerRequest {
    /// Of what was spent on so many requests; all zero if there were none.
    #[must_use]
    pub fn new(spent: &Spent, requests: u64) -> Self {
        let each = |count: f64| count / requests.max(1) as f64;
        let counted = |counted: Counted| spent.counts.of(counted).map(|count| each(count as f64));
        Self {
            user_us: each(spent.user.as_secs_f64() * 1e6),
            system_us: each(spent.system.as_secs_f64() * 1e6),
            voluntary_switches: each(spent.voluntary as f64),
            involuntary_switches: each(spent.involuntary as f64),
            minor_faults: each(spent.minor_faults as f64),
            major_faults: each(spent.major_faults as f64),
            system_calls: counted(Counted::SystemCalls),
            instructions: counted(Counted::Instructions),
            cycles: counted(Counted::Cycles),
            cache_misses: counted(Counted::CacheMisses),
            branch_misses: counted(Counted::BranchMisses),
        }
    }

    /// With the system calls of another slice, in which nothing else counts.
    #[must_use]
    pub fn with_system_calls(self, spent: &Spent, requests: u64) -> Self {
        Self { system_calls: Self::new(spent, requests).system_calls, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn everything_is_divided_by_the_requests() {
        let spent = Spent { user: Duration::from_millis(3), voluntary: 500, ..Spent::default() };
        let each = PerRequest::new(&spent, 1000);
        assert!((each.user_us - 3.0).abs() < 1e-9);
        assert!((each.voluntary_switches - 0.5).abs() < 1e-9);
        assert_eq!(each.system_calls, None);
        assert_eq!(PerRequest::new(&Spent::default(), 0), PerRequest::default());
    }
}
