//! Parts of the admission path by themselves, for benches. Not part of the interface.

use crate::admission::Gates;
use crate::handoff::Room;

/// The permits of one worker that nobody else uses.
#[derive(Debug)]
pub struct Permits(Gates);

impl Permits {
    /// So many of them.
    pub fn new(limit: u32) -> Self {
        Self(Gates::new(1, limit))
    }

    /// Takes a permit and gives it back, as a connection does that is served where it was accepted; says whether
    /// there was one.
    #[inline]
    pub fn take_and_release(&self) -> bool {
        let release = |worker: usize| {
            self.0.gate(worker).try_release();
        };
        Room::new(&self.0, &release).reserve(0).is_some()
    }
}
