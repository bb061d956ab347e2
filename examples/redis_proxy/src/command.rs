//! Which command a request is, as far as a proxy must know: whether it leaves something behind on the connection.
//!
//! Gathers the parser's events into whole commands. Only a name that a chunk cuts in two is copied, into a few
//! bytes; of arguments nothing is looked at, but for the few commands that block only if an argument says so.

use crate::resp::request::is_blank;
use crate::resp::{Event, Limits, Malformed, Requests};

/// What a proxy must know of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a proxy must handle each")]
pub enum Kind {
    /// One reply, and nothing of it stays with the connection.
    Plain,
    /// Nothing at all, like an empty line: Redis does not answer it.
    Nothing,
    /// It binds state to the connection, blocks it, or has another number of replies than one.
    Binding,
    /// It ends the connection, after `+OK`.
    Quit,
    /// What Redis takes for an attack from a browser: it would close the connection, whosever it is.
    Forbidden,
}

/// A whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "all that there is to know")]
pub struct Command {
    /// The offset behind its last byte, in the chunk that it ended in.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
}

/// The commands of one client.
#[derive(Debug, Clone)]
pub struct Commands {
    requests: Requests,
    name: Word,
    kind: Kind,
    /// The argument that makes the command one that binds, if it has one.
    unless: Option<&'static str>,
    inline: Inline,
}

/// Where an inline command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inline {
    Before,
    Name,
    Behind,
}

impl Commands {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            requests: Requests::new(limits),
            name: Word::default(),
            kind: Kind::Nothing,
            unless: None,
            inline: Inline::Before,
        }
    }

    /// Whether the last chunk ended between two commands.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.requests.is_between()
    }

    /// The next command that ends in the chunk, from offset `at` on, which moves along; `None` when the chunk is
    /// used up.
    ///
    /// # Errors
    /// What follows is no request, or too long. Commands up to here are still good.
    ///
    /// # Panics
    /// When `at` lies outside of the chunk.
    pub fn next(&mut self, chunk: &[u8], at: &mut usize) -> Result<Option<Command>, Malformed> {
        while let Some(event) = self.requests.next(chunk, at)? {
            match event {
                Event::Part { argument: 0, range, last } => self.named(&chunk[range], last),
                Event::Part { range, last, .. } => {
                    if let Some(word) = self.unless {
                        self.argument(&chunk[range], last, word);
                    }
                }
                Event::Inline { range, last } => self.inline(&chunk[range], last),
                Event::End(end) => {
                    let kind = std::mem::replace(&mut self.kind, Kind::Nothing);
                    (self.unless, self.inline) = (None, Inline::Before);
                    return Ok(Some(Command { end, kind }));
                }
            }
        }
        Ok(None)
    }

    #[inline]
    fn named(&mut self, part: &[u8], last: bool) {
        let Some(name) = self.name.whole(part, last) else { return };
        (self.kind, self.unless) = classify(name);
        self.name = Word::default();
    }

    /// Looks for the word that makes the command bind. Any argument that reads so counts, a key called BLOCK too:
    /// that is on the safe side.
    #[cold]
    fn argument(&mut self, part: &[u8], last: bool, word: &str) {
        let Some(argument) = self.name.whole(part, last) else { return };
        if argument.eq_ignore_ascii_case(word.as_bytes()) {
            self.kind = Kind::Binding;
        }
        self.name = Word::default();
    }

    /// An inline command with quotes could be any: it counts as one that binds.
    fn inline(&mut self, part: &[u8], last: bool) {
        for &byte in part {
            match (self.inline, byte) {
                (_, b'"' | b'\'') => (self.inline, self.kind) = (Inline::Behind, Kind::Binding),
                (Inline::Before, byte) if is_blank(byte) => {}
                (Inline::Before | Inline::Name, b' ' | b'\t' | b'\r') => self.inline_named(),
                (Inline::Before | Inline::Name, byte) => {
                    self.inline = Inline::Name;
                    self.name.push(byte);
                }
                (Inline::Behind, _) => {}
            }
        }
        if last && self.inline == Inline::Name {
            self.inline_named();
        }
        if last {
            self.name = Word::default();
        }
    }

    fn inline_named(&mut self) {
        let (kind, unless) = classify(self.name.bytes());
        self.kind = if unless.is_some() { Kind::Binding } else { kind };
        self.inline = Inline::Behind;
    }
}

/// A word that may have been cut, as far as it can be of interest.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    bytes: [u8; Self::MOST],
    length: usize,
}

impl Word {
    /// One more than the longest word of interest, so that a longer one is seen to be longer.
    const MOST: usize = NAME_LONGEST + 1;

    /// The whole word when its last part is there, copied only if it was cut.
    fn whole<'a>(&'a mut self, part: &'a [u8], last: bool) -> Option<&'a [u8]> {
        if last && self.length == 0 {
            return Some(part);
        }
        let room = Self::MOST - self.length;
        part.iter().take(room).for_each(|&byte| self.push(byte));
        last.then(|| self.bytes())
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What a command is by its name, unless it has an argument that makes it bind.
fn classify(name: &[u8]) -> (Kind, Option<&'static str>) {
    let Some(first) = name.first() else { return (Kind::Plain, None) };
    let letter = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
    let lengths = LENGTHS.get(letter).copied().unwrap_or(0);
    if name.len() > NAME_LONGEST || lengths & (1 << name.len()) == 0 {
        return (Kind::Plain, None); // most commands are told by first letter and length alone
    }
    let found = TABLE.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    match found {
        Some(&(_, Rule::Kind(kind))) => (kind, None),
        Some(&(_, Rule::If(word))) => (Kind::Plain, Some(word)),
        None => (Kind::Plain, None),
    }
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    Kind(Kind),
    /// Binding with this argument, plain without.
    If(&'static str),
}

const BINDING: Rule = Rule::Kind(Kind::Binding);

/// Every command that is not plain, by the documentation of Redis 7 and 8.
const TABLE: &[(&str, Rule)] = &[
    // other messages than one reply for each request
    ("subscribe", BINDING),
    ("psubscribe", BINDING),
    ("ssubscribe", BINDING),
    ("unsubscribe", BINDING),
    ("punsubscribe", BINDING),
    ("sunsubscribe", BINDING),
    ("monitor", BINDING),
    ("sync", BINDING),
    ("psync", BINDING),
    ("replconf", BINDING),
    ("shutdown", BINDING),
    // transactions
    ("multi", BINDING),
    ("exec", BINDING),
    ("discard", BINDING),
    ("watch", BINDING),
    ("unwatch", BINDING),
    // who and what the connection is
    ("auth", BINDING),
    ("hello", BINDING),
    ("select", BINDING),
    ("client", BINDING),
    ("reset", BINDING),
    ("readonly", BINDING),
    ("readwrite", BINDING),
    ("asking", BINDING),
    // a debugger takes the connection over; DEBUG does what it likes
    ("script", Rule::If("debug")),
    ("debug", BINDING),
    // what waits, and holds up everything behind it
    ("blpop", BINDING),
    ("brpop", BINDING),
    ("brpoplpush", BINDING),
    ("blmove", BINDING),
    ("blmpop", BINDING),
    ("bzpopmin", BINDING),
    ("bzpopmax", BINDING),
    ("bzmpop", BINDING),
    ("wait", BINDING),
    ("waitaof", BINDING),
    ("xread", Rule::If("block")),
    ("xreadgroup", Rule::If("block")),
    ("quit", Rule::Kind(Kind::Quit)),
    ("post", Rule::Kind(Kind::Forbidden)),
    ("host:", Rule::Kind(Kind::Forbidden)),
];

const NAME_LONGEST: usize = 12;

/// For each first letter the lengths of the names in the table, as bits.
const LENGTHS: [u16; 26] = lengths();

const fn lengths() -> [u16; 26] {
    let mut lengths = [0; 26];
    let mut index = 0;
    while index < TABLE.len() {
        let name = TABLE[index].0.as_bytes();
        assert!(name.len() <= NAME_LONGEST, "NAME_LONGEST is too small");
        lengths[(name[0] - b'a') as usize] |= 1 << name.len();
        index += 1;
    }
    lengths
}
