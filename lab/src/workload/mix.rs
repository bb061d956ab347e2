//! The endpoints of `work`, what each of them does, and how often each is
//! asked for: those of a study of HTTP servers, in which every wait is a sleep
//! and all work is a busy loop.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::value::Error as WordError;
use serde::{Deserialize, Serialize};

use super::kind::word;

/// What a request of `work` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// Validates an order, stores it, and tells a payment gateway.
    CreateOrder,
    /// Work without a wait.
    IndexPage,
    /// Fetches an order and formats it.
    ReadOrder,
}

/// A part of what an endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Keeps the core busy for so long.
    Compute(Duration),
    /// Sleeps for so long, as if another server had been asked.
    Wait(Duration),
}

/// How often each endpoint is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mix {
    /// Index pages only.
    PureCpu,
    /// 70 % index pages.
    CpuHeavy,
    /// A third each.
    #[default]
    Mixed,
    /// Half of them create orders.
    IoHeavy,
    /// New orders only.
    PureIo,
}

impl Endpoint {
    /// Every endpoint.
    pub const ALL: [Self; 3] = [Self::CreateOrder, Self::IndexPage, Self::ReadOrder];

    /// Its name in a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreateOrder => "create_order",
            Self::IndexPage => "index_page",
            Self::ReadOrder => "read_order",
        }
    }

    /// What it does, in order.
    #[must_use]
    pub const fn steps(self) -> &'static [Step] {
        match self {
            Self::CreateOrder => &[PROCESSING, Step::Wait(DATABASE_WRITE), Step::Wait(GATEWAY)],
            Self::IndexPage => &[PROCESSING],
            Self::ReadOrder => &[Step::Wait(DATABASE_READ), PROCESSING],
        }
    }
}

impl Mix {
    /// Every mix, from pure computing to pure waiting.
    pub const ALL: [Self; 5] = [Self::PureCpu, Self::CpuHeavy, Self::Mixed, Self::IoHeavy, Self::PureIo];

    /// What the user calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PureCpu => "pure-cpu",
            Self::CpuHeavy => "cpu-heavy",
            Self::Mixed => "mixed",
            Self::IoHeavy => "io-heavy",
            Self::PureIo => "pure-io",
        }
    }

    /// What a request asks for that begins with this byte. Requests begin with
    /// every byte equally often, so client and server agree without a word.
    #[must_use]
    pub fn endpoint(self, first: u8) -> Endpoint {
        let (create, index) = self.percent();
        match u32::from(first) * 100 / 256 {
            place if place < create => Endpoint::CreateOrder,
            place if place < create + index => Endpoint::IndexPage,
            _ => Endpoint::ReadOrder,
        }
    }

    /// New orders and index pages in a hundred requests; the rest reads.
    const fn percent(self) -> (u32, u32) {
        match self {
            Self::PureCpu => (0, 100),
            Self::CpuHeavy => (10, 70),
            Self::Mixed => (33, 33),
            Self::IoHeavy => (50, 20),
            Self::PureIo => (100, 0),
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mix {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        word(text)
    }
}

const PROCESSING: Step = Step::Compute(Duration::from_micros(2));
const DATABASE_WRITE: Duration = Duration::from_millis(2);
const DATABASE_READ: Duration = Duration::from_millis(1);
const GATEWAY: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_divide_as_the_mix_says() {
        for mix in Mix::ALL {
            assert_eq!(mix.to_string().parse(), Ok(mix));
            let count = |endpoint| {
                let asks = (0..=u8::MAX).filter(|&first| mix.endpoint(first) == endpoint);
                i64::try_from(asks.count()).unwrap()
            };
            let (create, index) = mix.percent();
            let close = |count: i64, percent: u32| (count * 100 - i64::from(percent) * 256).abs() <= 256;
            assert!(close(count(Endpoint::CreateOrder), create), "{mix}");
            assert!(close(count(Endpoint::IndexPage), index), "{mix}");
            assert!(close(count(Endpoint::ReadOrder), 100 - create - index), "{mix}");
        }
    }

    #[test]
    fn an_order_waits_twice_and_a_page_never() {
        let waits =
            |endpoint: Endpoint| endpoint.steps().iter().filter(|step| matches!(step, Step::Wait(_))).count();
        assert_eq!(Endpoint::ALL.map(waits), [2, 0, 1]);
    }
}
