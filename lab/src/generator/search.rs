//! The highest rate at which a server keeps a promise about its latency: an open
//! loop at ever higher rates until the promise breaks, then between the last two.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Clients, Slice};

/// A promise: so many percent of the replies come within so long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub struct Slo {
    /// How many of a hundred replies.
    pub percent: f64,
    /// How long they may take, from when the request was due.
    pub within: Duration,
}

/// What a search has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Capacity {
    /// What had to be kept.
    pub slo: Slo,
    /// The highest rate at which it was, in requests per second; none if it was at
    /// no rate.
    pub highest_rate: Option<f64>,
    /// Every rate that was tried, in order.
    pub steps: Vec<Step>,
}

/// One rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Requests per second that were planned.
    pub rate: f64,
    /// Requests per second that were answered.
    pub requests_per_second: f64,
    /// The latency at the percentage of the promise, in microseconds.
    pub latency_us: f64,
    /// Requests that were planned and could not be sent in time.
    pub unsent: u64,
    /// Whether the promise was kept.
    pub kept: bool,
}

/// Finds the highest rate; the clients are connected to that server. `step` is
/// how long a rate is tried, `watch` sees each.
///
/// # Errors
/// When the clients fail, for a reason that is not the server's; and when requests
/// are lost, since a server that drops some of them keeps no promise.
pub fn capacity(
    clients: &Clients,
    server: usize,
    slo: Slo,
    step: Duration,
    mut watch: impl FnMut(&Step),
) -> io::Result<Capacity> {
    clients.set_rate(None)?;
    let closed = clean(clients.run(server, step)?)?;
    let most = closed.requests as f64 / closed.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut search = RateSearch::new((most * FIRST_SHARE).max(1.0));
    let mut steps = Vec::new();
    while let Some(rate) = search.next() {
        clients.set_rate(Some(rate))?;
        let mut tried = try_rate(clients, server, slo, step, rate)?;
        if !tried.kept {
            // The machine may have stumbled, and not the server.
            tried = try_rate(clients, server, slo, step, rate)?;
        }
        watch(&tried);
        search.tell(tried.kept);
        steps.push(tried);
    }
    clients.set_rate(None)?;
    Ok(Capacity { slo, highest_rate: search.highest, steps })
}

fn try_rate(clients: &Clients, server: usize, slo: Slo, step: Duration, rate: f64) -> io::Result<Step> {
    clean(clients.run(server, step.div_f64(SETTLE_PART))?)?;
    let slice = clean(clients.run(server, step)?)?;
    let latency = Duration::from_nanos(slice.latencies.value_at_quantile(slo.percent / 100.0));
    Ok(Step {
        rate,
        requests_per_second: slice.requests as f64 / slice.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
        latency_us: latency.as_secs_f64() * 1e6,
        unsent: slice.unsent,
        kept: latency <= slo.within && slice.unsent * UNSENT_ONE_OF <= slice.requests,
    })
}

fn clean(slice: Slice) -> io::Result<Slice> {
    match slice.faults.total() {
        0 => Ok(slice),
        _ => Err(io::Error::other(slice.faults.to_string())),
    }
}

/// The rates to try, one after the other; knows no server.
#[derive(Debug)]
struct RateSearch {
    first: f64,
    highest: Option<f64>,
    lowest_broken: Option<f64>,
    tried: Option<f64>,
}

impl RateSearch {
    const fn new(first: f64) -> Self {
        Self { first, highest: None, lowest_broken: None, tried: None }
    }

    /// The next rate; none when the highest is known well enough.
    fn next(&mut self) -> Option<f64> {
        let rate = match (self.highest, self.lowest_broken) {
            (None, None) => self.first,
            (Some(kept), None) if kept < RATE_MAX => kept * GROWTH,
            (None, Some(broken)) if broken > 1.0 => (broken / GROWTH).max(1.0),
            (Some(kept), Some(broken)) if broken / kept > 1.0 + PRECISION => (kept * broken).sqrt(),
            _ => return None,
        };
        self.tried = Some(rate);
        Some(rate)
    }

    fn tell(&mut self, kept: bool) {
        match kept {
            true => self.highest = self.tried,
            false => self.lowest_broken = self.tried,
        }
    }
}

impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let wrong = || SloError(text.to_owned());
        let (percent, time) =
            text.strip_prefix('p').and_then(|rest| rest.split_once('=')).ok_or_else(wrong)?;
        let percent: f64 = percent.parse().map_err(|_| wrong())?;
        let digits = time.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: f64 = digits.parse().map_err(|_| wrong())?;
        let seconds = match &time[digits.len()..] {
            "us" => number * 1e-6,
            "ms" => number * 1e-3,
            "s" => number,
            _ => return Err(wrong()),
        };
        if !(0.0..=100.0).contains(&percent) || !(1e-6..=60.0).contains(&seconds) {
            return Err(wrong());
        }
        Ok(Self { percent, within: Duration::from_secs_f64(seconds) })
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}={}us", self.percent, (self.within.as_secs_f64() * 1e6).round())
    }
}

impl TryFrom<String> for Slo {
    type Error = SloError;

    fn try_from(text: String) -> Result<Self, SloError> {
        text.parse()
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> Self {
        slo.to_string()
    }
}

/// A text that is no promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no latency to keep; write for example p99=2ms, with us, ms or s, up to 60 s")]
pub struct SloError(String);

/// Of what a closed loop reaches, to begin with.
const FIRST_SHARE: f64 = 0.25;
const GROWTH: f64 = 1.5;
const PRECISION: f64 = 0.03;
const RATE_MAX: f64 = 1e8;
/// A rate is run for this part of a step before it counts.
const SETTLE_PART: f64 = 5.0;
/// More than one unsent request of so many is a rate that the server does not have.
const UNSENT_ONE_OF: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn highest(first: f64, limit: f64) -> (Option<f64>, usize) {
        let mut search = RateSearch::new(first);
        let mut steps = 0;
        while let Some(rate) = search.next() {
            search.tell(rate <= limit);
            steps += 1;
        }
        (search.highest, steps)
    }

    #[test]
    fn the_highest_rate_is_found_from_below_and_from_above() {
        for (first, limit) in [(1000.0, 37_000.0), (90_000.0, 500.0), (10.0, 10.0), (1.0, 1e6)] {
            let (found, steps) = highest(first, limit);
            let found = found.unwrap();
            assert!(found <= limit && found * 1.03 >= limit, "{first} {limit}: {found}");
            assert!(steps < 50, "{steps}");
        }
    }

    #[test]
    fn a_promise_that_is_never_kept_or_always_ends_the_search() {
        assert_eq!(highest(1000.0, 0.0).0, None);
        assert!(highest(1000.0, f64::INFINITY).0.unwrap() >= RATE_MAX);
    }

    #[test]
    fn a_promise_is_read_as_it_is_shown() {
        let slo: Slo = "p99.9=1.5ms".parse().unwrap();
        assert_eq!(slo.within, Duration::from_micros(1500));
        assert_eq!(slo.to_string().parse(), Ok(slo));
        for wrong in
            ["", "99=2ms", "p99", "p99=2", "p101=2ms", "p99=0ms", "p99=2h", "pp=1s", "p99=-1s", "p99=61s"]
        {
            let error = wrong.parse::<Slo>().unwrap_err().to_string();
            assert!(error.contains("p99=2ms"), "{error}");
        }
    }
}
