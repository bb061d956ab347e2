//! How long anything may be.

/// The limits of one parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a plain record of limits; all must be thought of")]
pub struct Limits {
    /// The longest line that is not a length, in bytes: an inline command, a simple string, an error.
    pub line_max: u32,
    /// The longest bulk string, in bytes.
    pub bulk_max: u64,
    /// The most elements of one array, set, push or map (where a pair counts as two).
    pub elements_max: u64,
    /// How deep arrays may be nested in a reply, at most [`DEPTH_MOST`]. Requests are never nested.
    pub depth_max: usize,
    /// The longest message, in bytes, all of its parts and lengths included.
    pub message_max: u64,
}

/// The deepest nesting that can be allowed. `EVAL` and `COMMAND DOCS` of a real Redis stay far below it.
pub const DEPTH_MOST: usize = 64;

impl Limits {
    /// What Redis itself takes from a client by default: lines of 64 KiB, bulk strings of 512 MiB, 1,048,576
    /// arguments, 1 GiB in all.
    pub const REQUESTS: Self = Self {
        line_max: 64 << 10,
        bulk_max: 512 << 20,
        elements_max: 1 << 20,
        depth_max: 1,
        message_max: 1 << 30,
    };

    /// What Redis may answer: as many elements as a list can have, 512 MiB each, 64 levels, 1 TiB in all. Replies
    /// are passed on as they come, so these bounds are no memory.
    pub const REPLIES: Self = Self {
        line_max: 1 << 20,
        bulk_max: 512 << 20,
        elements_max: u32::MAX as u64,
        depth_max: DEPTH_MOST,
        message_max: 1 << 40,
    };
}
