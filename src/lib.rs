//! corepool
