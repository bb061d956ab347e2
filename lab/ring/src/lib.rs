//! Two bare `io_uring`s. [`Ring`] accepts, receives and sends: the floor that the runtimes of the lab are
//! held against. [`Batch`] sends the requests of the lab's clients.
//!
//! Safe to use: `Ring` owns every socket, and every buffer that the kernel may write to, until the kernel
//! has said that it is done with it; `Batch` returns when the kernel is done with all that it was lent.
//! `Ring` is the loop's side; `socket` is the state of one connection; `provided` is the memory of
//! multishot receives. What is done with the bytes is the caller's.

mod batch;
mod provided;
mod ring;
mod socket;

pub use batch::Batch;
pub use ring::{Event, Key, Ring};

/// How connections receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Receive {
    /// One operation for each message, into the connection's own buffer.
    SingleShot,
    /// One operation for the life of a connection, into buffers that all
    /// connections share.
    Multishot,
}

/// Bytes of a receive buffer.
pub const BUFFER_BYTES: usize = 20 * 1024;
