//! What a failing accept leads to: when to try again, how many to shed, when to say so. Decisions only.

use std::time::{Duration, Instant};

/// How long accepting pauses when the kernel is out of descriptors or memory, for each worker that there is:
/// all workers together fail a hundred times a second at the most.
const PAUSE_PER_WORKER: Duration = Duration::from_millis(10);

/// How often failing to accept is reported in the log, at the most.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// How many connections are shed before each pause, at the most: who is told at once need not wait, but a storm
/// must not keep a worker busy with telling.
pub(crate) const SHED_MAX: usize = 16;

/// What one worker's failures to accept have led to so far.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    logged: Option<Instant>,
    /// Failures that have not been reported.
    unreported: u64,
}

impl Troubles {
    /// Accepting has failed: how many times it has, if that is to be reported now.
    pub(crate) fn report(&mut self, now: Instant) -> Option<u64> {
        self.unreported += 1;
        if self.logged.is_some_and(|last| now.duration_since(last) < LOG_INTERVAL) {
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.unreported))
    }
}

/// How long to wait before trying again. A spin would take the core from those who could free something.
pub(crate) fn pause(workers: usize) -> Duration {
    PAUSE_PER_WORKER.saturating_mul(u32::try_from(workers.max(2)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_report_a_second_says_how_many_there_were() {
        let (mut troubles, start) = (Troubles::default(), Instant::now());
        let reports: Vec<_> = (0..=250_u64)
            .filter_map(|step| {
                let at = start + Duration::from_millis(10) * u32::try_from(step).expect("small");
                troubles.report(at).map(|count| (step, count))
            })
            .collect();
        assert_eq!(reports, [(0, 1), (100, 100), (200, 100)]);
    }

    #[test]
    fn all_workers_together_fail_fewer_than_two_hundred_times_a_second() {
        for workers in 1..100 {
            let per_second = Duration::from_secs(1).div_duration_f64(pause(workers)) * workers as f64;
            assert!(per_second < 200.0, "{workers} workers: {per_second}");
        }
    }
}
