//! Whether the clients or the server set the pace.

use std::time::Duration;

use super::Slice;

/// How busy the two sides of a load were, each as a share of its threads' time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Busy {
    /// Of the client threads, 0 to 1.
    pub clients: f64,
    /// Of the server's workers, 0 to 1 or a little more.
    pub server: f64,
}

impl Busy {
    /// Of one slice or many; `server_cpu` is what the server used in them.
    #[must_use]
    pub fn new(slice: &Slice, threads: usize, server_cpu: Duration, workers: usize) -> Self {
        let share = |cpu: Duration, threads: usize| {
            cpu.as_secs_f64() / (slice.elapsed.as_secs_f64() * threads as f64).max(f64::MIN_POSITIVE)
        };
        Self { clients: share(slice.cpu, threads), server: share(server_cpu, workers) }
    }

    /// Whether the server had to wait for the clients: they had hardly a moment
    /// left, and the server had. Then the rate and the latency are theirs and say
    /// nothing about it. Where both run on the same cores nobody can tell.
    #[must_use]
    pub fn generator_is_the_limit(self) -> bool {
        self.clients >= BUSY && self.server < BUSY
    }
}

/// Less than this is a side that had to wait for the other.
const BUSY: f64 = 0.97;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_that_never_waits_is_the_limit() {
        let mut slice = Slice::empty();
        slice.elapsed = Duration::from_secs(1);
        let limit = |clients_ms, server_ms, workers| {
            let mut slice = slice.clone();
            slice.cpu = Duration::from_millis(clients_ms);
            Busy::new(&slice, 2, Duration::from_millis(server_ms), workers).generator_is_the_limit()
        };
        assert!(limit(1990, 700, 1));
        assert!(limit(1990, 1500, 2));
        assert!(!limit(1400, 990, 1));
        assert!(!limit(1990, 990, 1));
    }
}
