//! Received bytes in the hands of a user, and what can be sent.

use std::fmt;
use std::ops::Deref;

use crate::backend::{Loan, SendBuf};
use crate::buffer::Buffer;

/// Received bytes, on loan from the core that received them. They can be sent straight back without a copy.
pub struct Chunk<L: Loan>(pub(crate) L);

impl<L: Loan> Deref for Chunk<L> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<L: Loan> AsRef<[u8]> for Chunk<L> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<L: Loan> fmt::Debug for Chunk<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chunk").field(&self.len()).finish()
    }
}

impl<L: Loan> From<Chunk<L>> for SendBuf<L> {
    fn from(chunk: Chunk<L>) -> Self {
        Self::Loan(chunk.0)
    }
}

impl<L: Loan> From<Buffer> for SendBuf<L> {
    fn from(buffer: Buffer) -> Self {
        Self::Pooled(buffer)
    }
}

impl<L: Loan> From<Vec<u8>> for SendBuf<L> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Vec(bytes)
    }
}

impl<L: Loan> From<&'static [u8]> for SendBuf<L> {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Static(bytes)
    }
}

impl<L: Loan> From<&'static str> for SendBuf<L> {
    fn from(text: &'static str) -> Self {
        Self::Static(text.as_bytes())
    }
}
