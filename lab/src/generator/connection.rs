//! One connection of the generator: a request at a time, each reply compared
//! byte for byte, partial sends and receives included.
//!
//! Its socket is watched edge-triggered for everything from the start, so that
//! no further system call arranges what to wait for. That is why a receive is
//! repeated until it comes back short.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use super::dialer::Dialer;
use super::fault::Fault;
use super::pattern::{Offset, Pattern};

#[derive(Debug)]
pub(super) struct Connection {
    key: u64,
    socket: Option<OwnedFd>,
    state: State,
    /// The request under way: what it is, how much of it has been sent and
    /// echoed, and when it was due.
    offset: Offset,
    sent: usize,
    received: usize,
    due: Instant,
    /// Requests begun on this socket.
    requests: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Connecting,
    /// Connected, and no request is under way.
    Idle,
    Exchanging,
}

/// What an event has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The request is still under way.
    Waiting,
    /// The reply is complete; the request was due at this time.
    Replied { due: Instant },
}

impl Connection {
    /// Not connected yet; its events will carry this key.
    pub(super) fn new(key: usize, now: Instant) -> Self {
        Self {
            key: key as u64,
            socket: None,
            state: State::Closed,
            offset: Pattern::first(key),
            sent: 0,
            received: 0,
            due: now,
            requests: 0,
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    pub(super) const fn is_exchanging(&self) -> bool {
        matches!(self.state, State::Exchanging | State::Connecting)
    }

    /// How many requests have begun since it was opened.
    pub(super) const fn requests(&self) -> u64 {
        self.requests
    }

    /// Drops the socket, if there is one.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.state = State::Closed;
    }

    /// Connects anew; a request can begin at once, it is sent when it can be.
    pub(super) fn open(&mut self, dialer: &mut Dialer, poll: &OwnedFd) -> Result<(), Fault> {
        self.close();
        let dialed = dialer.dial().map_err(Fault::Connect)?;
        epoll::add(poll, &dialed.socket, EventData::new_u64(self.key), WATCHED).map_err(Fault::Connect)?;
        self.socket = Some(dialed.socket);
        self.requests = 0;
        self.state = if dialed.connected { State::Idle } else { State::Connecting };
        Ok(())
    }

    /// Begins the next request, which was due at this time.
    pub(super) fn begin(&mut self, due: Instant, pattern: &Pattern) -> Result<(), Fault> {
        self.offset = Pattern::next(self.offset);
        self.sent = 0;
        self.received = 0;
        self.due = due;
        self.requests += 1;
        if self.state == State::Connecting {
            return Ok(());
        }
        self.state = State::Exchanging;
        self.send(pattern)
    }

    /// Goes on with the request under way after an event on the socket.
    pub(super) fn advance(
        &mut self,
        events: EventFlags,
        pattern: &Pattern,
        buffer: &mut [u8],
    ) -> Result<Progress, Fault> {
        if self.state == State::Connecting {
            self.finish_connecting()?;
        }
        if self.state == State::Exchanging && self.sent < pattern.bytes() {
            self.send(pattern)?;
        }
        if events.intersects(READABLE) {
            self.receive(events.intersects(ENDING), pattern, buffer)
        } else {
            Ok(Progress::Waiting)
        }
    }

    fn finish_connecting(&mut self) -> Result<(), Fault> {
        let Some(socket) = &self.socket else {
            return Err(Fault::Closed);
        };
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => {
                self.state = State::Exchanging;
                Ok(())
            }
            Ok(Err(error)) | Err(error) => Err(Fault::Connect(error)),
        }
    }

    fn send(&mut self, pattern: &Pattern) -> Result<(), Fault> {
        let Some(socket) = &self.socket else {
            return Err(Fault::Closed);
        };
        let rest = &pattern.window(self.offset)[self.sent..];
        match send(socket, rest, SendFlags::NOSIGNAL) {
            Ok(sent) => self.sent += sent,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(Fault::Broken(error)),
        }
        Ok(())
    }

    fn receive(&mut self, ending: bool, pattern: &Pattern, buffer: &mut [u8]) -> Result<Progress, Fault> {
        let Some(socket) = &self.socket else {
            return Ok(Progress::Waiting);
        };
        loop {
            let count = match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) => return Err(Fault::Closed),
                Ok((count, _)) => count,
                Err(Errno::AGAIN) => return Ok(Progress::Waiting),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Fault::Broken(error)),
            };
            let end = self.received + count;
            // Nothing can be echoed that has not been sent.
            if self.state != State::Exchanging
                || end > self.sent
                || buffer[..count] != pattern.window(self.offset)[self.received..end]
            {
                return Err(Fault::WrongBytes);
            }
            self.received = end;
            if end == pattern.bytes() {
                self.state = State::Idle;
                return Ok(Progress::Replied { due: self.due });
            }
            if count < buffer.len() && !ending {
                return Ok(Progress::Waiting);
            }
        }
    }
}

const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
/// The peer has ended the connection: what follows the bytes must be read too.
const ENDING: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const READABLE: EventFlags = EventFlags::IN.union(ENDING);
