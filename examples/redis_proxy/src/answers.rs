//! What the proxy itself answers, and why it ends a connection.

use std::io;

use crate::resp::Malformed;

/// Why a client is cut off. Each is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// It sent what is no RESP.
    Malformed(Malformed),
    /// It sent more than a limit allows.
    TooBig(Malformed),
    /// It spoke HTTP, which Redis takes for an attack.
    Forbidden,
    /// It did not send the rest of a request, or did not read its replies, for too long.
    Stalled,
    /// It did not read, and too many replies were waiting.
    Unread,
    /// The upstream died in the middle of a reply, a part of which the client has.
    ReplyCut,
    /// The upstream died in the middle of a request that was being passed on, or was to be bound.
    RequestCut,
}

impl From<Malformed> for Cut {
    fn from(malformed: Malformed) -> Self {
        if matches!(malformed, Malformed::TooBig(_)) {
            Self::TooBig(malformed)
        } else {
            Self::Malformed(malformed)
        }
    }
}

impl Cut {
    /// What the client is told; nothing where it would be taken for a part of a reply.
    #[must_use]
    pub fn answer(self) -> Vec<u8> {
        match self {
            Self::Malformed(why) | Self::TooBig(why) => {
                format!("-ERR Protocol error: {why}\r\n").into_bytes()
            }
            Self::Forbidden => b"-ERR Protocol error: this is not HTTP\r\n".to_vec(),
            Self::RequestCut => LOST.as_bytes().to_vec(),
            Self::Stalled | Self::Unread | Self::ReplyCut => Vec::new(),
        }
    }
}

/// How the handler ends, for the server's own counters.
impl From<Cut> for io::Error {
    fn from(cut: Cut) -> Self {
        Self::other(format!("cut off: {cut:?}"))
    }
}

/// The upstream died, or did not answer in time, while a request was in flight.
pub const LOST: &str = "-ERR proxy: the upstream was lost before it answered\r\n";

/// No upstream connection could be had.
pub const UNREACHED: &str = "-ERR proxy: no upstream connection\r\n";

/// A command that binds state to a connection, on connections that are shared.
pub const BINDS: &str =
    "-ERR proxy: this command binds state to its connection, and connections are shared here\r\n";

/// The answer to QUIT.
pub const OK: &str = "+OK\r\n";
