//! The seam, the server and the admission protocol of corepool; names no runtime.
pub mod backend;
pub mod buffer;
pub mod cores;
pub mod error;
