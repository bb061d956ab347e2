//! The bytes that clients send: an endless stream for each connection, which is
//! one block over and over.
//!
//! Requests follow each other in it, so that any number of them is sent at once,
//! from where they are; nothing is copied or computed for a request. The length
//! of the block is a prime, so that a request meets the same bytes again only
//! after thousands of others, and each connection starts elsewhere: the reply to
//! an earlier request or to another connection is not taken for the right one.

use std::sync::Arc;

/// Where a connection is in the block.
pub(super) type Place = usize;

/// One block, shared by every connection of a thread.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The block, and its beginning again, as far as one send may reach.
    block: Arc<[u8]>,
    period: usize,
    /// Whether a connection must begin with the beginning of the block.
    is_request: bool,
}

impl Pattern {
    /// For requests of so many bytes, of which so many are sent at once. Every
    /// byte begins as many requests as any other.
    pub(super) fn random(request_bytes: usize, at_once: usize, seed: u64) -> Self {
        let period = if request_bytes.is_multiple_of(PERIOD) { OTHER_PERIOD } else { PERIOD };
        let mut bytes: Vec<_> = (0..period).map(|index| (index % 256) as u8).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut bytes);
        Self { is_request: false, ..Self::repeated(&bytes, request_bytes * at_once) }
    }

    /// One request over and over.
    pub(super) fn repeated(bytes: &[u8], at_once: usize) -> Self {
        let block = bytes.iter().copied().cycle().take(bytes.len() + at_once).collect();
        Self { block, period: bytes.len(), is_request: true }
    }

    /// So many bytes from there on.
    pub(super) fn at(&self, place: Place, bytes: usize) -> &[u8] {
        &self.block[place..place + bytes]
    }

    /// Where the stream of a client begins.
    pub(super) const fn first(connection: usize) -> Place {
        connection.wrapping_mul(CONNECTION_STEP) % PERIOD
    }

    /// Where a new connection of a client goes on that has come so far.
    pub(super) const fn begin(&self, place: Place) -> Place {
        if self.is_request { 0 } else { place }
    }

    /// So many bytes further.
    pub(super) const fn after(&self, place: Place, bytes: usize) -> Place {
        let next = place + bytes;
        if next < self.period { next } else { next % self.period }
    }
}

/// Little enough for the block to stay in a core's cache.
const PERIOD: usize = 4099;
/// For requests of that length, which would all be the same.
const OTHER_PERIOD: usize = 4111;
const CONNECTION_STEP: usize = 1237;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_meet_the_same_bytes_again_only_after_thousands() {
        for bytes in [1, 64, 512, 4096, PERIOD, 2 * PERIOD, 16 * 1024, 70_000] {
            let pattern = Pattern::random(bytes, 1, 1);
            let mut place = 0;
            let mut seen = vec![false; pattern.period];
            for _ in 0..pattern.period {
                assert!(!std::mem::replace(&mut seen[place], true), "{bytes} B");
                place = pattern.after(place, bytes);
            }
            assert_eq!(place, 0);
        }
    }

    #[test]
    fn neighbouring_requests_and_connections_differ() {
        let pattern = Pattern::random(16, 1, 1);
        for connection in 0..64 {
            let own = Pattern::first(connection);
            let other = Pattern::first(connection + 1);
            assert_ne!(pattern.at(own, 16), pattern.at(pattern.after(own, 16), 16));
            assert_ne!(pattern.at(own, 16), pattern.at(other, 16));
        }
    }

    #[test]
    fn the_stream_goes_on_at_the_end_of_the_block() {
        let pattern = Pattern::random(10, 3, 1);
        let across = pattern.at(PERIOD - 2, 30);
        assert_eq!(&across[2..], pattern.at(0, 28));
        assert_eq!(pattern.after(PERIOD - 2, 5), 3);
    }

    #[test]
    fn every_byte_begins_equally_many_requests() {
        let pattern = Pattern::random(128, 1, 7);
        let mut counts = [0_usize; 256];
        let mut place = 0;
        for _ in 0..PERIOD {
            counts[usize::from(pattern.at(place, 1)[0])] += 1;
            place = pattern.after(place, 128);
        }
        assert!(counts.iter().all(|count| (16..=17).contains(count)));
    }
}
