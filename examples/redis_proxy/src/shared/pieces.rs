//! Bytes in a queue, as pieces that can be sent: small ones are put together, long ones are left where they are.

use std::collections::VecDeque;

use corepool::backend::{Loan, SendBuf};
use corepool::buffer::Buffer;

/// A queue of bytes.
#[derive(Debug)]
pub(super) struct Pieces<L> {
    queue: VecDeque<SendBuf<L>>,
    bytes: usize,
}

impl<L: Loan> Pieces<L> {
    pub(super) const fn new() -> Self {
        Self { queue: VecDeque::new(), bytes: 0 }
    }

    /// How many bytes are queued.
    pub(super) fn len(&self) -> usize {
        self.bytes
    }

    /// Appends a copy of these bytes.
    pub(super) fn copy(&mut self, mut bytes: &[u8], buffer: impl Fn() -> Buffer) {
        self.bytes += bytes.len();
        while !bytes.is_empty() {
            let room = match self.queue.back() {
                Some(SendBuf::Pooled(last)) => last.capacity() - last.len(),
                _ => 0,
            };
            if room == 0 {
                self.queue.push_back(SendBuf::Pooled(buffer()));
                continue;
            }
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            if let Some(SendBuf::Pooled(last)) = self.queue.back_mut() {
                last.extend_from_slice(now);
            }
            bytes = rest;
        }
    }

    /// Appends these bytes as they are.
    pub(super) fn push(&mut self, piece: impl Into<SendBuf<L>>) {
        let piece = piece.into();
        self.bytes += piece.as_ref().len();
        self.queue.push_back(piece);
    }

    /// Takes the first piece.
    pub(super) fn pop(&mut self) -> Option<SendBuf<L>> {
        let piece = self.queue.pop_front()?;
        self.bytes -= piece.as_ref().len();
        Some(piece)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}
