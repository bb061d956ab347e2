//! The bytes that are streamed: random, yet known at each position, so that one missing byte is seen.

use std::sync::OnceLock;

/// A prime, so that no buffer size divides it and a shifted stream never matches.
const PERIOD: usize = 1_000_003;

/// A position in the endless stream that all cases send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    position: u64,
}

impl Pattern {
    /// How many bytes have been taken from or checked against the stream.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next bytes of the stream, at most `most` of them.
    pub(crate) fn next(&mut self, most: usize) -> &'static [u8] {
        let next = self.peek(most);
        self.skip(next.len());
        next
    }

    /// The next bytes, without taking them.
    pub(crate) fn peek(&self, most: usize) -> &'static [u8] {
        let rest = self.rest();
        &rest[..most.min(rest.len())]
    }

    /// Takes `count` bytes of what was peeked at.
    pub(crate) fn skip(&mut self, count: usize) {
        self.position += count as u64;
    }

    /// The next `count` bytes of the stream.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count);
        while bytes.len() < count {
            bytes.extend_from_slice(self.next(count - bytes.len()));
        }
        bytes
    }

    /// Asserts that the stream goes on with `bytes`.
    #[track_caller]
    pub(crate) fn check(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let at = self.position;
            let expected = self.next(bytes.len());
            let (found, rest) = bytes.split_at(expected.len());
            if let Some(offset) = expected.iter().zip(found).position(|(expected, found)| expected != found) {
                panic!("the stream differs at byte {}", at + offset as u64);
            }
            bytes = rest;
        }
    }

    fn rest(&self) -> &'static [u8] {
        static PERIOD_BYTES: OnceLock<Vec<u8>> = OnceLock::new();
        let bytes = PERIOD_BYTES.get_or_init(|| {
            let mut bytes = vec![0; PERIOD];
            fastrand::Rng::with_seed(1).fill(&mut bytes);
            bytes
        });
        &bytes[(self.position % PERIOD as u64) as usize..]
    }
}
