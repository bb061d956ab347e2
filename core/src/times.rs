//! How long things took: a histogram of each kind for each worker, and what is told of it.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::sync::{Mutex, lock};

/// The histograms of one worker. Its own thread records, anybody reads; the lock is next to never contended.
#[derive(Debug)]
pub(crate) struct Times {
    queue_wait: Mutex<Series>,
    first_byte: Mutex<Series>,
    service: Mutex<Series>,
}

#[derive(Debug)]
struct Series {
    histogram: Histogram<u64>,
    /// Of what was recorded since the last look, for who adapts to it.
    recent_count: u64,
    recent_sum: Duration,
}

/// The longest time that is told from longer ones.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

impl Series {
    fn new() -> Self {
        let longest = u64::try_from(LONGEST.as_micros()).unwrap_or(u64::MAX);
        #[expect(clippy::expect_used, reason = "constants that are valid bounds")]
        let histogram = Histogram::new_with_bounds(1, longest, 2).expect("valid bounds");
        Self { histogram, recent_count: 0, recent_sum: Duration::ZERO }
    }

    fn record(&mut self, took: Duration) {
        self.histogram.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        self.recent_count += 1;
        self.recent_sum = self.recent_sum.saturating_add(took);
    }
}

impl Times {
    pub(crate) fn new() -> Self {
        let series = || Mutex::new(Series::new());
        Self { queue_wait: series(), first_byte: series(), service: series() }
    }

    /// How long a connection or a request has waited for its permit.
    pub(crate) fn waited(&self, took: Duration) {
        lock(&self.queue_wait).record(took);
    }

    /// How long it took from a connection's start to the first byte that was sent.
    pub(crate) fn replied(&self, took: Duration) {
        lock(&self.first_byte).record(took);
    }

    /// How long a permit was held.
    pub(crate) fn served(&self, took: Duration) {
        lock(&self.service).record(took);
    }

    /// How many permits were given back since the last call, and how long these were held on average.
    pub(crate) fn recently_served(&self) -> (u64, Duration) {
        let mut series = lock(&self.service);
        let count = std::mem::take(&mut series.recent_count);
        let sum = std::mem::take(&mut series.recent_sum);
        (count, sum.checked_div(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or_default())
    }

    pub(crate) fn snapshot(&self) -> WorkerTimes {
        let summary = |series: &Mutex<Series>| Distribution::of(&lock(series).histogram);
        WorkerTimes {
            queue_wait: summary(&self.queue_wait),
            first_byte: summary(&self.first_byte),
            service: summary(&self.service),
        }
    }
}

/// How long things took on one worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WorkerTimes {
    /// How long those who waited have waited for a permit: connections, or requests under `Scope::Request`.
    pub queue_wait: Distribution,
    /// From the start of a connection to the first byte that its handler sent.
    pub first_byte: Distribution,
    /// How long a permit was held: by a connection, or by a request under `Scope::Request`.
    pub service: Distribution,
}

/// A distribution of times, in microseconds, exact to 1 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Distribution {
    /// How many were recorded.
    pub count: u64,
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: u64,
    /// Nine of ten took no longer.
    pub p90_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
    /// 999 of 1,000 took no longer.
    pub p999_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Distribution {
    fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            mean_us: histogram.mean(),
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_told() {
        let times = Times::new();
        (1..=1000).for_each(|us| times.waited(Duration::from_micros(us)));
        let told = times.snapshot().queue_wait;
        assert_eq!(told.count, 1000);
        assert!((495..=505).contains(&told.p50_us) && (980..=1000).contains(&told.p99_us), "{told:?}");
        times.waited(Duration::MAX);
        assert!(times.snapshot().queue_wait.max_us >= LONGEST.as_micros() as u64);
    }

    #[test]
    fn the_recent_mean_begins_anew_at_each_look() {
        let times = Times::new();
        times.served(Duration::from_millis(1));
        times.served(Duration::from_millis(3));
        assert_eq!(times.recently_served(), (2, Duration::from_millis(2)));
        assert_eq!(times.recently_served(), (0, Duration::ZERO));
    }
}
