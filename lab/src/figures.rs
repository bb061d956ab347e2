//! The figures that are compared: what each is called, its unit, and how a
//! difference in it is put into words.

use std::time::Duration;

use crate::accounting::Spent;
use crate::generator::Slice;

/// A figure of a server under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Figure {
    /// Requests answered per second.
    RequestsPerSecond,
    /// CPU time of the server per request, in microseconds.
    ServerCpu,
    /// CPU time of the clients per request, in microseconds.
    ClientCpu,
    /// Half of the replies came within so many microseconds.
    P50,
    /// 99 of 100 replies came within so many microseconds.
    P99,
    /// 999 of 1000 replies came within so many microseconds.
    P999,
    /// Context switches of the server per request.
    Switches,
}

impl Figure {
    /// Every figure, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::RequestsPerSecond,
        Self::ServerCpu,
        Self::ClientCpu,
        Self::P50,
        Self::P99,
        Self::P999,
        Self::Switches,
    ];

    /// The one that a claim should rest on: it depends least on who loads the
    /// server, and how.
    pub const PRIMARY: Self = Self::ServerCpu;

    /// Its key in the JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests_per_second",
            Self::ServerCpu => "server_cpu_us_per_request",
            Self::ClientCpu => "client_cpu_us_per_request",
            Self::P50 => "p50_us",
            Self::P99 => "p99_us",
            Self::P999 => "p999_us",
            Self::Switches => "context_switches_per_request",
        }
    }

    /// The figure of that key.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.key() == key)
    }

    /// Whether more of it is better.
    #[must_use]
    pub const fn is_better_when_larger(self) -> bool {
        matches!(self, Self::RequestsPerSecond)
    }

    /// Whether it says nothing about a server that had to wait for its clients.
    #[must_use]
    pub const fn depends_on_the_clients(self) -> bool {
        matches!(self, Self::RequestsPerSecond | Self::P50 | Self::P99 | Self::P999)
    }

    /// Its row in the table, with the unit.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RequestsPerSecond => "requests/s",
            Self::ServerCpu => "server CPU/request, us",
            Self::ClientCpu => "client CPU/request, us",
            Self::P50 => "p50, us",
            Self::P99 => "p99, us",
            Self::P999 => "p99.9, us",
            Self::Switches => "server switches/request",
        }
    }

    /// A verb, and what follows "1.2 % less" or "1.2 % more".
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::RequestsPerSecond => ("serves", "requests per second"),
            Self::ServerCpu => ("uses", "CPU per request"),
            Self::ClientCpu => ("costs its clients", "CPU per request"),
            Self::P50 => ("takes", "time at p50"),
            Self::P99 => ("takes", "time at p99"),
            Self::P999 => ("takes", "time at p99.9"),
            Self::Switches => ("makes", "context switches per request"),
        }
    }

    /// The value as it is shown in a table.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::RequestsPerSecond => grouped(value),
            Self::ServerCpu | Self::ClientCpu => format!("{value:.3}"),
            Self::P50 | Self::P99 | Self::P999 => format!("{value:.1}"),
            Self::Switches => format!("{value:.4}"),
        }
    }
}

/// A value of every figure that is known, from one slice or from many.
#[derive(Clone, Copy, Debug)]
pub struct Figures([Option<f64>; Figure::ALL.len()]);

impl Figures {
    /// The figures of what was measured; none without a single reply.
    #[must_use]
    pub fn new(slice: &Slice, spent: Spent) -> Option<Self> {
        if slice.requests == 0 || slice.elapsed.is_zero() {
            return None;
        }
        let requests = slice.requests as f64;
        let per_request = |time: Duration| time.as_secs_f64() * 1e6 / requests;
        let quantile = |quantile| slice.latencies.value_at_quantile(quantile) as f64 / 1e3;
        let switches = spent.switches as f64;
        Some(Self(Figure::ALL.map(|figure| match figure {
            Figure::RequestsPerSecond => Some(requests / slice.elapsed.as_secs_f64()),
            Figure::ServerCpu => Some(per_request(spent.cpu)),
            Figure::ClientCpu => Some(per_request(slice.cpu)),
            Figure::P50 => Some(quantile(0.5)),
            Figure::P99 => Some(quantile(0.99)),
            Figure::P999 => Some(quantile(0.999)),
            Figure::Switches => Some(switches / requests),
        })))
    }

    /// The value of a figure; none if it could not be measured.
    #[must_use]
    pub const fn value(&self, figure: Figure) -> Option<f64> {
        self.0[figure as usize]
    }

    /// The logarithm of how many times larger a figure is here than there; none
    /// if one of them is zero or not known.
    #[must_use]
    pub fn log_ratio(&self, other: &Self, figure: Figure) -> Option<f64> {
        let ratio = (self.value(figure)? / other.value(figure)?).ln();
        ratio.is_finite().then_some(ratio)
    }
}

/// With the thousands set apart.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(requests: u64, cpu_us: u64) -> Figures {
        let mut slice = Slice::empty();
        slice.requests = requests;
        slice.elapsed = Duration::from_millis(500);
        slice.cpu = Duration::from_micros(cpu_us);
        slice.latencies.saturating_record(20_000);
        let spent = Spent { cpu: Duration::from_micros(2 * cpu_us), ..Spent::default() };
        Figures::new(&slice, spent).unwrap()
    }

    #[test]
    fn every_figure_is_found_under_its_own_place() {
        let figures = figures(1000, 3000);
        let close = |figure, value: f64| (figures.value(figure).unwrap() - value).abs() < 0.02 * value;
        assert!(close(Figure::RequestsPerSecond, 2000.0));
        assert!(close(Figure::ClientCpu, 3.0));
        assert!(close(Figure::ServerCpu, 6.0));
        assert!(close(Figure::P99, 20.0));
        assert_eq!(figures.value(Figure::Switches), Some(0.0));
    }

    #[test]
    fn ratios_exist_only_between_values_that_are_not_zero() {
        let (a, b) = (figures(1000, 3000), figures(1000, 6000));
        let ratio = b.log_ratio(&a, Figure::ServerCpu).unwrap();
        assert!((ratio - 2f64.ln()).abs() < 1e-9);
        assert_eq!(b.log_ratio(&a, Figure::Switches), None);
    }

    #[test]
    fn nothing_is_made_of_a_slice_without_replies() {
        assert!(Figures::new(&Slice::empty(), Spent::default()).is_none());
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(grouped(999.4), "999");
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(12_345.0), "12,345");
    }
}
