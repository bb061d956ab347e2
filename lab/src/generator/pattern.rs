//! The bytes of a request: a window into one random block.
//!
//! Each request of a connection shows another window, and each connection
//! starts elsewhere, so that the reply to an earlier request or to another
//! connection is not taken for the right one. Nothing is copied or computed
//! per request: a request is sent from the block, and its reply is compared
//! with it.

use std::sync::Arc;

/// Where the window of a request begins.
pub(super) type Offset = usize;

/// One random block, shared by every connection of every thread.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    block: Arc<[u8]>,
    bytes: usize,
}

impl Pattern {
    /// A block for requests of so many bytes.
    pub(super) fn new(bytes: usize, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut block = vec![0; WINDOWS + bytes];
        random.fill(&mut block);
        Self { block: block.into(), bytes }
    }

    /// The bytes of a request.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The request at this offset.
    pub(super) fn window(&self, offset: Offset) -> &[u8] {
        &self.block[offset..offset + self.bytes]
    }

    /// Where the first request of a connection begins.
    pub(super) const fn first(connection: usize) -> Offset {
        connection.wrapping_mul(CONNECTION_STEP) % WINDOWS
    }

    /// Where the request after the one at this offset begins.
    pub(super) const fn next(offset: Offset) -> Offset {
        (offset + REQUEST_STEP) % WINDOWS
    }
}

/// Enough for a connection to meet a window again only after thousands of
/// requests, and little enough for the block to stay in a core's cache.
const WINDOWS: usize = 4096;
/// Odd, so that a connection runs through all windows.
const REQUEST_STEP: usize = 61;
/// Odd, so that up to `WINDOWS` connections begin at different windows.
const CONNECTION_STEP: usize = 1237;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_meets_a_window_again_only_after_all_others() {
        let mut offset = Pattern::first(7);
        let mut seen = vec![false; WINDOWS];
        for _ in 0..WINDOWS {
            assert!(!std::mem::replace(&mut seen[offset], true));
            offset = Pattern::next(offset);
        }
        assert_eq!(offset, Pattern::first(7));
    }

    #[test]
    fn neighbouring_requests_and_connections_differ() {
        let pattern = Pattern::new(16, 1);
        for connection in 0..64 {
            let own = Pattern::first(connection);
            let other = Pattern::first(connection + 1);
            assert_ne!(pattern.window(own), pattern.window(Pattern::next(own)));
            assert_ne!(pattern.window(own), pattern.window(other));
        }
    }

    #[test]
    fn the_last_window_is_as_long_as_the_others() {
        let pattern = Pattern::new(3, 1);
        assert_eq!(pattern.window(WINDOWS - 1).len(), 3);
    }
}
