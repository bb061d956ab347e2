//! RESP2 and RESP3 on the wire: where messages begin and end, and nothing else.
//!
//! * [`request`]: what clients send, arrays of bulk strings or inline commands, as ranges over what was received.
//! * [`reply`]: what a Redis sends, any value, as the offsets where values end.
//! * [`limits`]: how long anything may be. `number`: the lengths themselves, read byte by byte.
//!
//! Both parsers take chunks as they arrive, cut anywhere, and keep a few words of state between them. They copy
//! no byte, allocate nothing, and look at a payload only to skip it. They accept no more than Redis does: what
//! both take is understood alike, so that a request can never be one here and two there.

pub mod limits;
mod number;
pub mod reply;
pub mod request;

pub use limits::Limits;
pub use reply::{Replies, Reply};
pub use request::{Event, Requests};

/// Why bytes are not RESP, or are too much of it. The connection cannot go on after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A length that is no number, or does not fit in one.
    #[error("invalid length")]
    Length,
    /// A line that does not end as a line does.
    #[error("expected the end of a line")]
    LineEnd,
    /// An argument of a request that is not a bulk string.
    #[error("expected '$'")]
    Argument,
    /// The quotes of an inline command do not match.
    #[error("unbalanced quotes in request")]
    Quotes,
    /// A zero byte in an inline command.
    #[error("zero byte in an inline request")]
    Zero,
    /// A reply of a type that there is not.
    #[error("unknown type")]
    Type,
    /// Longer than a limit allows.
    #[error("too big: {0}")]
    TooBig(TooBig),
}

/// The limit that was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooBig {
    /// [`Limits::line_max`].
    Line,
    /// [`Limits::bulk_max`].
    Bulk,
    /// [`Limits::elements_max`].
    Elements,
    /// [`Limits::depth_max`].
    Depth,
    /// [`Limits::message_max`].
    Message,
}

impl std::fmt::Display for TooBig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Bulk => "bulk length",
            Self::Elements => "array length",
            Self::Depth => "nesting",
            Self::Message => "message",
        })
    }
}
