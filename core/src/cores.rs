//! Which cores there are.

/// One logical processor, by the number that the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct CoreId(pub usize);
