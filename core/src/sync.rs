//! The only door to atomics. A model checker replaces what is behind it.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
