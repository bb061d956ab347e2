//! What a Redis sends: any value of RESP2 or RESP3. The parser says where top-level values end.

use super::limits::{DEPTH_MOST, Limits};
use super::number::Number;
use super::{Malformed, TooBig};

/// A reply whose end was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// The offset behind its last byte.
    pub end: usize,
    /// Its type, as on the wire; that of the value, if attributes stand in front.
    pub kind: u8,
}

/// The parser of one connection's replies.
#[derive(Debug, Clone)]
pub struct Replies {
    limits: Limits,
    state: State,
    /// The arrays that are open, outermost first.
    open: [Open; DEPTH_MOST],
    depth: usize,
    /// The type of the top-level value.
    kind: u8,
    length: u64,
}

/// An array, map or the like that has not ended.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    left: u64,
    /// Attributes are followed by the value that they belong to, and count for nothing themselves.
    is_attribute: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Type,
    Line {
        length: u32,
        cr: bool,
    },
    Length(Number),
    /// The payload, with its line end.
    Payload(u64),
    Count {
        number: Number,
        per_entry: u64,
        is_attribute: bool,
    },
}

impl Replies {
    /// A parser at the beginning of a stream. Deeper nesting than [`DEPTH_MOST`] is never allowed.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Type, open: [Open::default(); DEPTH_MOST], depth: 0, kind: 0, length: 0 }
    }

    /// Whether the last chunk ended between two replies.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.length == 0
    }

    /// The next reply that ends in the chunk, from offset `at` on; `None` when the chunk is used up.
    ///
    /// # Errors
    /// What follows is no reply, or too long.
    ///
    /// # Panics
    /// When `at` lies outside of the chunk.
    pub fn next(&mut self, chunk: &[u8], at: usize) -> Result<Option<Reply>, Malformed> {
        let mut rest = &chunk[at..];
        while let Some(&byte) = rest.first() {
            let (used, ended) = self.take(byte, rest)?;
            self.length += used as u64;
            if self.length > self.limits.message_max {
                return Err(Malformed::TooBig(TooBig::Message));
            }
            rest = &rest[used..];
            if ended && self.value_ended() {
                self.length = 0;
                return Ok(Some(Reply { end: chunk.len() - rest.len(), kind: self.kind }));
            }
        }
        Ok(None)
    }

    /// Takes some bytes; how many, and whether a value ended with them.
    #[inline]
    fn take(&mut self, byte: u8, rest: &[u8]) -> Result<(usize, bool), Malformed> {
        match self.state {
            State::Type => {
                self.state = self.value(byte)?;
                Ok((1, false))
            }
            State::Line { length, cr } => self.line(length, cr, rest),
            State::Length(mut number) => {
                let length = number.take(byte)?;
                self.state = State::Length(number);
                length.map_or(Ok((1, false)), |length| Ok((1, self.bulk(length)?)))
            }
            State::Payload(left) => self.payload(left, rest),
            State::Count { mut number, per_entry, is_attribute } => {
                let count = number.take(byte)?;
                self.state = State::Count { number, per_entry, is_attribute };
                count.map_or(Ok((1, false)), |count| Ok((1, self.aggregate(count, per_entry, is_attribute)?)))
            }
        }
    }

    /// Begins a value by its type.
    fn value(&mut self, kind: u8) -> Result<State, Malformed> {
        if self.depth == 0 {
            self.kind = kind;
        }
        let count =
            |per_entry, is_attribute| State::Count { number: Number::default(), per_entry, is_attribute };
        Ok(match kind {
            b'+' | b'-' | b':' | b'_' | b'#' | b',' | b'(' => State::Line { length: 0, cr: false },
            b'$' | b'!' | b'=' => State::Length(Number::default()),
            b'*' | b'~' | b'>' => count(1, false),
            b'%' => count(2, false),
            b'|' => count(2, true),
            _ => return Err(Malformed::Type),
        })
    }

    fn line(&mut self, length: u32, cr: bool, rest: &[u8]) -> Result<(usize, bool), Malformed> {
        if cr {
            return if rest[0] == b'\n' { Ok((1, true)) } else { Err(Malformed::LineEnd) };
        }
        let room = (self.limits.line_max - length) as usize;
        let end = rest.iter().take(room + 1).position(|&byte| byte == b'\r' || byte == b'\n');
        let used = end.unwrap_or(rest.len());
        if used > room {
            return Err(Malformed::TooBig(TooBig::Line));
        }
        match end.map(|end| rest[end]) {
            Some(b'\n') => Err(Malformed::LineEnd),
            Some(_) => {
                self.state = State::Line { length, cr: true };
                Ok((used + 1, false))
            }
            None => {
                self.state = State::Line { length: length + used as u32, cr: false };
                Ok((used, false))
            }
        }
    }

    /// Begins a payload; whether the value is over already.
    fn bulk(&mut self, length: i64) -> Result<bool, Malformed> {
        let Ok(length) = u64::try_from(length) else { return null(length) };
        if length > self.limits.bulk_max {
            return Err(Malformed::TooBig(TooBig::Bulk));
        }
        self.state = State::Payload(length + 2);
        Ok(false)
    }

    fn payload(&mut self, left: u64, rest: &[u8]) -> Result<(usize, bool), Malformed> {
        if left > 2 {
            let used = usize::try_from(left - 2).unwrap_or(usize::MAX).min(rest.len());
            self.state = State::Payload(left - used as u64);
            return Ok((used, false));
        }
        if rest[0] != if left == 2 { b'\r' } else { b'\n' } {
            return Err(Malformed::LineEnd);
        }
        self.state = State::Payload(left - 1);
        Ok((1, left == 1))
    }

    /// Begins an array or the like; whether the value is over already.
    fn aggregate(&mut self, count: i64, per_entry: u64, is_attribute: bool) -> Result<bool, Malformed> {
        let Ok(count) = u64::try_from(count) else { return null(count) };
        let left = count * per_entry; // eighteen digits, twice: no overflow
        if left > self.limits.elements_max {
            return Err(Malformed::TooBig(TooBig::Elements));
        }
        self.state = State::Type;
        if left == 0 {
            // Empty attributes are not a value: that is still to come.
            return Ok(!is_attribute);
        }
        if self.depth == self.limits.depth_max.min(DEPTH_MOST) {
            return Err(Malformed::TooBig(TooBig::Depth));
        }
        self.open[self.depth] = Open { left, is_attribute };
        self.depth += 1;
        Ok(false)
    }

    /// Counts a value that has ended; whether the whole reply has.
    #[inline]
    fn value_ended(&mut self) -> bool {
        self.state = State::Type;
        while let Some(index) = self.depth.checked_sub(1) {
            let open = &mut self.open[index];
            open.left -= 1;
            if open.left > 0 {
                return false;
            }
            self.depth = index;
            if open.is_attribute {
                return false;
            }
        }
        true
    }
}

/// The null of RESP2, the only negative length there is.
fn null(length: i64) -> Result<bool, Malformed> {
    if length == -1 { Ok(true) } else { Err(Malformed::Length) }
}
