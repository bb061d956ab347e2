//! What sets the limit of a worker of the framework, by name: what `--admission` takes.

use std::fmt;
use std::str::FromStr;

use corepool::Config;
use corepool::limit::{Adaptive, Unlimited};
use serde::{Deserialize, Serialize};

/// What sets the limit, where it is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Admitted {
    /// It finds itself between two bounds.
    Adaptive {
        /// The lower one, at least 1.
        least: u32,
        /// The upper one.
        most: u32,
    },
    /// There is none but that of sockets.
    Unlimited,
}

impl Admitted {
    pub(super) fn apply(self, config: Config) -> Config {
        match self {
            Self::Adaptive { least, most } => config.admission(Adaptive::between(least, most)),
            Self::Unlimited => config.admission(Unlimited),
        }
    }
}

impl fmt::Display for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adaptive { least, most } => write!(f, "adaptive:{least}..{most}"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// A text that says nothing of a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no admission `{0}`; there are adaptive:LEAST..MOST, from 1 to 1000000, and unlimited")]
pub struct UnknownAdmission(String);

impl FromStr for Admitted {
    type Err = UnknownAdmission;

    fn from_str(text: &str) -> Result<Self, UnknownAdmission> {
        let bounds = || {
            let (least, most) = text.strip_prefix("adaptive:")?.split_once("..")?;
            let (least, most) = (least.parse().ok()?, most.parse().ok()?);
            (1 <= least && least <= most && most <= MOST).then_some(Self::Adaptive { least, most })
        };
        match text {
            "unlimited" => Ok(Self::Unlimited),
            _ => bounds().ok_or_else(|| UnknownAdmission(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Admitted {
    type Error = UnknownAdmission;

    fn try_from(text: String) -> Result<Self, UnknownAdmission> {
        text.parse()
    }
}

impl From<Admitted> for String {
    fn from(admitted: Admitted) -> Self {
        admitted.to_string()
    }
}

const MOST: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admission_reads_what_it_writes() {
        for text in ["adaptive:8..512", "adaptive:1..1", "unlimited"] {
            assert_eq!(text.parse::<Admitted>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bounds_that_bound_nothing_are_refused_with_what_there_is() {
        for text in
            ["", "8", "adaptive", "adaptive:8", "adaptive:0..8", "adaptive:9..8", "adaptive:1..2000000"]
        {
            let error = text.parse::<Admitted>().unwrap_err().to_string();
            assert!(error.contains("adaptive:LEAST..MOST"), "{error}");
        }
    }
}
