//! The state of one connection on a ring; no system call and no queue is in
//! here.

use std::collections::VecDeque;
use std::net::TcpStream;

use io_uring::types::Timespec;

/// A connection, with all that the kernel may be working on.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) stream: TcpStream,
    /// For receives of its own; allocated when it is first needed.
    pub(crate) buffer: Vec<u8>,
    /// What has been received and not yet been handed out.
    pub(crate) arrived: VecDeque<Chunk>,
    /// What is handed out.
    pub(crate) current: Option<Chunk>,
    pub(crate) outgoing: Outgoing,
    /// How much of that is sent.
    pub(crate) sent: usize,
    /// How long it pauses; the kernel reads it.
    pub(crate) pause: Box<Timespec>,
    pub(crate) state: State,
    /// Operations that the kernel has not finished.
    pub(crate) flights: u32,
}

/// Bytes that have been received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// The shared buffer that they are in; their connection's own without one.
    pub(crate) shared: Option<u16>,
    pub(crate) bytes: usize,
}

/// What is being sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outgoing {
    /// The current chunk.
    Chunk,
    Static(&'static [u8]),
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// A receive is in flight.
    pub(crate) receiving: bool,
    /// The caller waits for a chunk.
    pub(crate) wanted: bool,
    /// There was no shared buffer for the last receive.
    pub(crate) starved: bool,
    /// Nothing more will arrive.
    pub(crate) ended: bool,
    /// The caller is done with it.
    pub(crate) closing: bool,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            arrived: VecDeque::new(),
            current: None,
            outgoing: Outgoing::Chunk,
            sent: 0,
            pause: Box::default(),
            state: State::default(),
            flights: 0,
        }
    }
}
