//! What to do with a chunk that ends in the middle of a message.
//!
//! A chunk that ends where a message does is passed on as it is, without a copy. Otherwise the beginning of the
//! message is held back, so that nobody downstream is kept waiting by a sender that dawdles, and nobody is left with
//! half a message if it dies. That costs a copy; so a chunk that is nearly full is passed on all the same, since the rest
//! is on its way, and so is a message that has grown too long to be held.

use corepool::Chunk;
use corepool::backend::{Loan, SendBuf};
use corepool::buffer::{BUFFER_SIZE, Buffer};

/// From this length on a chunk is passed on with the beginning of a message at its end.
const NEARLY_FULL: usize = BUFFER_SIZE / 2;

/// How much of one message is held back at the most.
const HELD_MAX: usize = 64 << 10;

/// One direction of one connection.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    held: Option<Buffer>,
    midway: bool,
}

impl Assembler {
    /// Whether a part of a message has been passed on, and its end has not.
    pub(crate) fn is_midway(&self) -> bool {
        self.midway
    }

    /// Takes a chunk in which the last message that ends does so in front of `end` (0 if none does), and gives what is to
    /// be passed on. `between` says that nothing follows.
    pub(crate) fn take<L: Loan>(
        &mut self,
        chunk: Chunk<L>,
        end: usize,
        between: bool,
        buffer: impl Fn() -> Buffer,
    ) -> Option<SendBuf<L>> {
        if self.held.is_some() {
            return self.take_more(&chunk, end, &buffer).map(SendBuf::Pooled);
        }
        if between {
            self.midway = false;
            return Some(chunk.into());
        }
        if chunk.len() >= NEARLY_FULL || (self.midway && end == 0) {
            self.midway = true;
            return Some(chunk.into());
        }
        self.midway = false;
        let (complete, rest) = chunk.split_at(end);
        self.held = Some(copy(rest, &buffer));
        (end > 0).then(|| SendBuf::Pooled(copy(complete, &buffer)))
    }

    /// Takes the messages that end in the chunk, and nothing of what follows.
    pub(crate) fn complete<L: Loan>(
        &mut self,
        chunk: &Chunk<L>,
        end: usize,
        buffer: impl Fn() -> Buffer,
    ) -> Option<SendBuf<L>> {
        let held = self.held.take();
        if end == 0 {
            return None;
        }
        self.midway = false;
        let mut bytes = held.unwrap_or_else(buffer);
        bytes.extend_from_slice(&chunk[..end]);
        Some(SendBuf::Pooled(bytes))
    }

    /// Takes all there is.
    pub(crate) fn everything<L: Loan>(&mut self, chunk: Chunk<L>) -> SendBuf<L> {
        match self.held.take() {
            None => chunk.into(),
            Some(mut held) => {
                held.extend_from_slice(&chunk);
                SendBuf::Pooled(held)
            }
        }
    }

    /// What is held back.
    pub(crate) fn take_held(&mut self) -> Option<Buffer> {
        self.held.take()
    }

    fn take_more(&mut self, chunk: &[u8], end: usize, buffer: &impl Fn() -> Buffer) -> Option<Buffer> {
        let mut held = self.held.take()?;
        if end > 0 {
            held.extend_from_slice(&chunk[..end]);
            self.held = (end < chunk.len()).then(|| copy(&chunk[end..], buffer));
            return Some(held);
        }
        held.extend_from_slice(chunk);
        if held.len() > HELD_MAX {
            self.midway = true;
            return Some(held);
        }
        self.held = Some(held);
        None
    }
}

fn copy(bytes: &[u8], buffer: &impl Fn() -> Buffer) -> Buffer {
    let mut copy = buffer();
    copy.extend_from_slice(bytes);
    copy
}
