//! What a server must do for a workload, as it is told on its command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Mix;

/// What a server does with what it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Service {
    /// Sends it back.
    #[default]
    Echo,
    /// Sends so many bytes back, then closes the connection.
    EchoOnce {
        /// The bytes of all requests of a connection.
        bytes: usize,
    },
    /// Goes round a loop so often for each chunk, then sends it back: a server
    /// that is slower by a known amount.
    Spin {
        /// How often.
        rounds: u32,
    },
    /// Does what each request asks for, then sends it back.
    Work {
        /// Bytes of a request.
        bytes: usize,
        /// What requests ask for.
        mix: Mix,
    },
    /// Takes requests of one size and sends replies of another.
    Transfer {
        /// Bytes of a request.
        request_bytes: usize,
        /// Bytes of a reply.
        reply_bytes: usize,
    },
    /// Answers HTTP/1.1 requests.
    Http {
        /// Bytes of the body of a reply.
        bytes: usize,
    },
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo => f.write_str("echo"),
            Self::EchoOnce { bytes } => write!(f, "echo-once:{bytes}"),
            Self::Spin { rounds } => write!(f, "spin:{rounds}"),
            Self::Work { bytes, mix } => write!(f, "work:{bytes}:{mix}"),
            Self::Transfer { request_bytes, reply_bytes } => {
                write!(f, "transfer:{request_bytes}:{reply_bytes}")
            }
            Self::Http { bytes } => write!(f, "http:{bytes}"),
        }
    }
}

impl FromStr for Service {
    type Err = ServiceError;

    fn from_str(text: &str) -> Result<Self, ServiceError> {
        let wrong = || ServiceError(text.to_owned());
        let bytes = |text: &str| text.parse().ok().filter(|&bytes: &usize| bytes > 0).ok_or_else(wrong);
        match text.split(':').collect::<Vec<_>>()[..] {
            ["echo"] => Ok(Self::Echo),
            ["echo-once", count] => Ok(Self::EchoOnce { bytes: bytes(count)? }),
            ["spin", rounds] => Ok(Self::Spin { rounds: rounds.parse().map_err(|_| wrong())? }),
            ["work", count, mix] => {
                Ok(Self::Work { bytes: bytes(count)?, mix: mix.parse().map_err(|_| wrong())? })
            }
            ["transfer", request, reply] => {
                Ok(Self::Transfer { request_bytes: bytes(request)?, reply_bytes: bytes(reply)? })
            }
            ["http", count] => Ok(Self::Http { bytes: bytes(count)? }),
            _ => Err(wrong()),
        }
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.to_string()
    }
}

impl TryFrom<String> for Service {
    type Error = ServiceError;

    fn try_from(text: String) -> Result<Self, ServiceError> {
        text.parse()
    }
}

/// A text that is no service.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no service `{0}`; there are echo, echo-once:BYTES, spin:ROUNDS, work:BYTES:MIX, \
     transfer:REQUEST_BYTES:REPLY_BYTES and http:BYTES"
)]
pub struct ServiceError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_read_as_it_is_shown() {
        let services = [
            Service::Echo,
            Service::EchoOnce { bytes: 512 },
            Service::Spin { rounds: 0 },
            Service::Work { bytes: 128, mix: Mix::IoHeavy },
            Service::Transfer { request_bytes: 64, reply_bytes: 1 << 20 },
            Service::Http { bytes: 1024 },
        ];
        for service in services {
            assert_eq!(service.to_string().parse(), Ok(service));
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_there_is() {
        for text in ["", "ping", "work", "work:0:mixed", "work:1:fast", "spin:-1", "http:-1", "echo:512"] {
            let error = text.parse::<Service>().unwrap_err().to_string();
            assert!(error.contains("work:BYTES:MIX"), "{error}");
        }
    }
}
