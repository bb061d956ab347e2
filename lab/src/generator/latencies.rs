//! The latencies of a slice: of all requests, and by endpoint where requests ask
//! for different things.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::workload::mix::Endpoint;
use crate::workload::{Kind, Mix, Workload};

/// Histograms that last for many slices.
#[derive(Debug)]
pub(super) struct Latencies {
    all: Histogram<u64>,
    /// In the order of [`Endpoint::ALL`]; empty if there is only one thing to ask for.
    by_endpoint: Vec<Histogram<u64>>,
    mix: Mix,
}

impl Latencies {
    pub(super) fn of(workload: &Workload) -> Self {
        let endpoints = if workload.kind == Kind::Work { Endpoint::ALL.len() } else { 0 };
        Self {
            all: histogram(),
            by_endpoint: (0..endpoints).map(|_| histogram()).collect(),
            mix: workload.mix,
        }
    }

    pub(super) fn reset(&mut self) {
        self.all.reset();
        self.by_endpoint.iter_mut().for_each(Histogram::reset);
    }

    pub(super) const fn all(&self) -> &Histogram<u64> {
        &self.all
    }

    pub(super) fn by_endpoint(&self) -> &[Histogram<u64>] {
        &self.by_endpoint
    }

    /// Of a request that began with that byte.
    pub(super) fn record(&mut self, latency: Duration, first_byte: u8) {
        let ns = nanoseconds(latency);
        self.all.saturating_record(ns);
        if !self.by_endpoint.is_empty() {
            self.by_endpoint[self.mix.endpoint(first_byte) as usize].saturating_record(ns);
        }
    }

    /// Of a request that was never sent, which is why nobody knows its endpoint.
    pub(super) fn record_unsent(&mut self, late: Duration) {
        self.all.saturating_record(nanoseconds(late));
    }
}

/// For latencies in nanoseconds up to a minute, with three digits.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_MAX_NS, 3).expect("valid bounds")
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

const LATENCY_MAX_NS: u64 = 60_000_000_000;
