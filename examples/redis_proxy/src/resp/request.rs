//! What clients send: arrays of bulk strings, or inline commands.
//!
//! The parser says where arguments lie in the chunk and where requests end. Which command it is, and what to
//! do about it, is [`crate::command`]'s business.

use std::ops::Range;

use super::limits::Limits;
use super::number::Number;
use super::{Malformed, TooBig};

/// What was found in a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a user of the parser must handle each")]
pub enum Event {
    /// A part of an argument: all of it, unless a chunk was cut inside.
    Part {
        /// Which argument; 0 is the command's name.
        argument: u32,
        /// Where it lies in the chunk.
        range: Range<usize>,
        /// Whether the argument ends here.
        last: bool,
    },
    /// A part of an inline command: of its line, without its end.
    Inline {
        /// Where it lies in the chunk.
        range: Range<usize>,
        /// Whether the line ends here.
        last: bool,
    },
    /// The request ends here, in front of this offset.
    End(usize),
}

/// The parser of one client's requests.
#[derive(Debug, Clone)]
pub struct Requests {
    limits: Limits,
    state: State,
    /// How many arguments are still to come, the one at hand included.
    arguments_left: u64,
    /// The argument at hand.
    argument: u32,
    /// How long this request is so far.
    length: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Start,
    Count(Number),
    Dollar,
    Length(Number),
    Payload(u64),
    PayloadCr,
    PayloadLf,
    Line { length: u32, quote: Quote },
    LineEnd,
    End,
}

/// How far an inline command is inside of quotes, by the rules of Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    SingleEscaped,
    Double,
    DoubleEscaped,
    /// Behind a closing quote, where only a blank may stand.
    Closed,
}

impl Requests {
    /// A parser at the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Start, arguments_left: 0, argument: 0, length: 0 }
    }

    /// Whether the last chunk ended between two requests.
    #[must_use]
    pub fn is_between(&self) -> bool {
        matches!(self.state, State::Start) && self.length == 0
    }

    /// The next event of the chunk from offset `at` on, which moves along; `None` when the chunk is used up.
    ///
    /// # Errors
    /// What follows is no request, or too long. Offsets up to the last [`Event::End`] are still good.
    ///
    /// # Panics
    /// When `at` lies outside of the chunk.
    pub fn next(&mut self, chunk: &[u8], at: &mut usize) -> Result<Option<Event>, Malformed> {
        loop {
            if matches!(self.state, State::End) {
                (self.state, self.length) = (State::Start, 0);
                return Ok(Some(Event::End(*at)));
            }
            let rest = &chunk[*at..];
            let Some(&byte) = rest.first() else { return Ok(None) };
            let (used, event) = match self.state {
                State::Payload(left) => self.payload(left, rest, *at),
                State::Line { length, quote } => self.line(length, quote, rest, *at)?,
                _ => self.byte(byte).map(|used| (used, None))?,
            };
            *at += used;
            self.length += used as u64;
            if self.length > self.limits.message_max {
                return Err(Malformed::TooBig(TooBig::Message));
            }
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// Takes a byte that belongs to no argument; 0 when it is left to the next state.
    fn byte(&mut self, byte: u8) -> Result<usize, Malformed> {
        self.state = match self.state {
            State::Start if byte == b'*' => State::Count(Number::default()),
            State::Start => {
                self.state = State::Line { length: 0, quote: Quote::None };
                return Ok(0);
            }
            State::Count(mut number) => match number.take(byte)? {
                Some(count) => self.count(count)?,
                None => State::Count(number),
            },
            State::Dollar if byte == b'$' => State::Length(Number::default()),
            State::Dollar => return Err(Malformed::Argument),
            State::Length(mut number) => match number.take(byte)? {
                Some(length) => self.bulk(length)?,
                None => State::Length(number),
            },
            State::PayloadCr if byte == b'\r' => State::PayloadLf,
            State::PayloadLf if byte == b'\n' => self.after_argument(),
            State::PayloadCr | State::PayloadLf => return Err(Malformed::LineEnd),
            State::LineEnd => State::End,
            State::Payload(_) | State::Line { .. } | State::End => return Ok(0),
        };
        Ok(1)
    }

    fn count(&mut self, count: i64) -> Result<State, Malformed> {
        // Redis takes an empty array, and one of negative length, for nothing at all.
        let Ok(count @ 1..) = u64::try_from(count) else { return Ok(State::End) };
        if count > self.limits.elements_max {
            return Err(Malformed::TooBig(TooBig::Elements));
        }
        (self.arguments_left, self.argument) = (count, 0);
        Ok(State::Dollar)
    }

    fn bulk(&self, length: i64) -> Result<State, Malformed> {
        let length = u64::try_from(length).map_err(|_negative| Malformed::Length)?;
        if length > self.limits.bulk_max {
            return Err(Malformed::TooBig(TooBig::Bulk));
        }
        Ok(State::Payload(length))
    }

    fn payload(&mut self, left: u64, rest: &[u8], at: usize) -> (usize, Option<Event>) {
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        let left = left - used as u64;
        self.state = if left == 0 { State::PayloadCr } else { State::Payload(left) };
        (used, Some(Event::Part { argument: self.argument, range: at..at + used, last: left == 0 }))
    }

    fn after_argument(&mut self) -> State {
        self.arguments_left -= 1;
        self.argument = self.argument.saturating_add(1);
        if self.arguments_left == 0 { State::End } else { State::Dollar }
    }

    fn line(
        &mut self,
        length: u32,
        quote: Quote,
        rest: &[u8],
        at: usize,
    ) -> Result<(usize, Option<Event>), Malformed> {
        let room = (self.limits.line_max - length) as usize;
        let end = rest.iter().take(room + 1).position(|&byte| byte == b'\n');
        let used = end.unwrap_or(rest.len());
        if used > room {
            return Err(Malformed::TooBig(TooBig::Line));
        }
        let line = &rest[..used];
        let quote = line.iter().try_fold(quote, |quote, &byte| quote.after(byte))?;
        if end.is_none() {
            self.state = State::Line { length: length + used as u32, quote };
        } else if matches!(quote, Quote::None | Quote::Closed) {
            self.state = State::LineEnd;
        } else {
            return Err(Malformed::Quotes);
        }
        Ok((used, Some(Event::Inline { range: at..at + used, last: end.is_some() })))
    }
}

impl Quote {
    fn after(self, byte: u8) -> Result<Self, Malformed> {
        Ok(match (self, byte) {
            (_, 0) => return Err(Malformed::Zero),
            (Self::Closed, byte) if !is_blank(byte) => return Err(Malformed::Quotes),
            (Self::None, b'"') => Self::Double,
            (Self::None, b'\'') => Self::Single,
            (Self::Double, b'\\') => Self::DoubleEscaped,
            (Self::Single, b'\\') => Self::SingleEscaped,
            (Self::Double, b'"') | (Self::Single, b'\'') => Self::Closed,
            (Self::None | Self::Closed, _) => Self::None,
            (Self::Double | Self::DoubleEscaped, _) => Self::Double,
            // Only a quote is escaped in single quotes; a backslash stands for itself, and may escape what follows.
            (Self::SingleEscaped, b'\\') => Self::SingleEscaped,
            (Self::Single | Self::SingleEscaped, _) => Self::Single,
        })
    }
}

/// What Redis takes for a blank in an inline command.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}
