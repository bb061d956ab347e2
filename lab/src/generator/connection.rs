//! One connection of the generator: requests in flight, each reply compared byte
//! for byte, partial sends and receives included.
//!
//! Its socket is watched edge-triggered for everything from the start, so that
//! no further system call arranges what to wait for. That is why a receive is
//! repeated until it comes back short.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use super::dialer::Dialer;
use super::fault::Fault;
use super::pattern::{Pattern, Place};
use super::reply::{Expected, Reading};

#[derive(Debug)]
pub(super) struct Connection {
    key: u64,
    socket: Option<OwnedFd>,
    state: State,
    /// Where the next byte to send is, and how many are to be sent.
    place: Place,
    unsent: usize,
    reading: Reading,
    /// When each request was due that has no reply yet.
    due: VecDeque<Instant>,
    /// Requests begun on this socket, and those with a reply.
    requests: u64,
    replies: u64,
    /// Whether it waits to be flushed.
    pub(super) is_dirty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// Closed, until the next slice.
    Lost,
    Connecting,
    Open,
    /// All replies have come, and the server is to close.
    Ending,
}

/// What all connections of a fleet have in common.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) pattern: Pattern,
    pub(super) request_bytes: usize,
    pub(super) expected: Expected,
    /// After so many requests a connection is not used any more; 0 for never.
    pub(super) requests_per_connection: u64,
    pub(super) server_closes: bool,
    pub(super) resets: bool,
}

/// What an event has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Replies that are complete now.
    pub(super) replies: usize,
    /// Whether the server has closed, as it was to do.
    pub(super) is_over: bool,
}

impl Connection {
    /// Not connected yet; its events will carry this key.
    pub(super) fn new(key: usize, pipeline: usize) -> Self {
        Self {
            key: key as u64,
            socket: None,
            state: State::Closed,
            place: Pattern::first(key),
            unsent: 0,
            reading: Reading::default(),
            due: VecDeque::with_capacity(pipeline),
            requests: 0,
            replies: 0,
            is_dirty: false,
        }
    }

    /// All replies have come, and it is to be closed by the server.
    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.state, State::Ending)
    }

    /// How many requests have no reply yet.
    pub(super) fn outstanding(&self) -> usize {
        self.due.len()
    }

    /// How many replies have come since it was opened.
    pub(super) const fn replies(&self) -> u64 {
        self.replies
    }

    /// The byte that the last echo began with.
    pub(super) const fn first_byte(&self) -> u8 {
        self.reading.first()
    }

    /// Drops the socket; what is in flight has no reply any more.
    pub(super) fn lose(&mut self) {
        self.socket = None;
        self.state = State::Lost;
        self.due.clear();
        self.unsent = 0;
    }

    /// It may be opened again.
    pub(super) const fn forgive(&mut self) {
        self.state = State::Closed;
    }

    /// Connects anew; a request can begin at once, it is sent when it can be.
    pub(super) fn open(&mut self, dialer: &mut Dialer, poll: &OwnedFd, rules: &Rules) -> Result<(), Fault> {
        self.close(rules);
        let dialed = dialer.dial().map_err(Fault::Connect)?;
        epoll::add(poll, &dialed.socket, EventData::new_u64(self.key), WATCHED).map_err(Fault::Connect)?;
        self.socket = Some(dialed.socket);
        (self.requests, self.replies, self.unsent) = (0, 0, 0);
        self.place = rules.pattern.begin(self.place);
        self.reading.begin(self.place);
        self.state = if dialed.connected { State::Open } else { State::Connecting };
        Ok(())
    }

    /// Closes it at once if it has had all of its requests and replies: a server
    /// that is full needs the room for others.
    pub(super) fn close_if_used_up(&mut self, rules: &Rules) {
        let is_used_up = rules.requests_per_connection > 0 && self.requests >= rules.requests_per_connection;
        if is_used_up && self.state == State::Open && self.due.is_empty() {
            self.close(rules);
        }
    }

    fn close(&mut self, rules: &Rules) {
        if let (Some(socket), true) = (&self.socket, rules.resets) {
            // Where it fails the connection is gone already.
            let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
        }
        self.socket = None;
        self.state = State::Closed;
    }

    /// Whether it has to be opened before a request.
    pub(super) const fn is_to_be_opened(&self, rules: &Rules) -> bool {
        let limit = rules.requests_per_connection;
        matches!(self.state, State::Closed) || (limit > 0 && self.requests >= limit)
    }

    /// Begins a request, which was due at this time; it is sent with the next flush.
    pub(super) fn begin(&mut self, due: Instant, rules: &Rules) {
        self.unsent += rules.request_bytes;
        self.due.push_back(due);
        self.requests += 1;
    }

    /// When the request was due that the next reply belongs to.
    pub(super) fn take_due(&mut self) -> Option<Instant> {
        self.replies += 1;
        self.due.pop_front()
    }

    /// Sends what can be sent of the requests that have begun.
    pub(super) fn flush(&mut self, rules: &Rules) -> Result<(), Fault> {
        self.send(rules).map_or(Ok(()), |outcome| self.sent(outcome, rules))
    }

    /// Sends it, for [`sent`](Self::sent) to be told what came of it.
    pub(super) fn send(&self, rules: &Rules) -> Option<Result<usize, Errno>> {
        self.to_send(rules).map(|(socket, bytes)| send(socket, bytes, SendFlags::NOSIGNAL))
    }

    /// What of those requests is to be sent now.
    pub(super) fn to_send<'a>(&'a self, rules: &'a Rules) -> Option<(&'a OwnedFd, &'a [u8])> {
        match (self.state, &self.socket, self.unsent) {
            (State::Open, Some(socket), 1..) => Some((socket, rules.pattern.at(self.place, self.unsent))),
            _ => None,
        }
    }

    /// What came of sending that.
    pub(super) fn sent(&mut self, outcome: Result<usize, Errno>, rules: &Rules) -> Result<(), Fault> {
        match outcome {
            Ok(sent) => {
                self.place = rules.pattern.after(self.place, sent);
                self.unsent -= sent;
                self.reading.sent(sent);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(Fault::Broken(error)),
        }
        Ok(())
    }

    /// Goes on with what is in flight after an event on the socket.
    pub(super) fn advance(
        &mut self,
        events: EventFlags,
        rules: &Rules,
        buffer: &mut [u8],
    ) -> Result<Progress, Fault> {
        if self.state == State::Connecting {
            self.finish_connecting()?;
        }
        self.flush(rules)?;
        if events.intersects(READABLE) {
            self.receive(events.intersects(ENDING), rules, buffer)
        } else {
            Ok(Progress { replies: 0, is_over: false })
        }
    }

    fn finish_connecting(&mut self) -> Result<(), Fault> {
        let Some(socket) = &self.socket else {
            return Err(Fault::Closed);
        };
        match sockopt::socket_error(socket) {
            Ok(Ok(())) => {
                self.state = State::Open;
                Ok(())
            }
            Ok(Err(error)) | Err(error) => Err(Fault::Connect(error)),
        }
    }

    fn receive(&mut self, ending: bool, rules: &Rules, buffer: &mut [u8]) -> Result<Progress, Fault> {
        let mut progress = Progress { replies: 0, is_over: false };
        let Some(socket) = &self.socket else {
            return Ok(progress);
        };
        loop {
            let count = match recv(socket, &mut *buffer, RecvFlags::empty()) {
                Ok((0, _)) if self.state == State::Ending => {
                    self.state = State::Closed;
                    // Not later: the end that was just seen may have left another event behind.
                    self.socket = None;
                    return Ok(Progress { is_over: true, ..progress });
                }
                Ok((0, _)) => return Err(Fault::Closed),
                Ok((count, _)) => count,
                Err(Errno::AGAIN) => return Ok(progress),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Fault::Broken(error)),
            };
            if progress.replies == self.due.len() {
                // Nothing has been asked for.
                return Err(Fault::WrongBytes);
            }
            progress.replies += self.reading.receive(&buffer[..count], &rules.expected, &rules.pattern)?;
            if progress.replies > self.due.len() {
                return Err(Fault::WrongBytes);
            }
            if progress.replies == self.due.len() {
                if !rules.server_closes || self.requests < rules.requests_per_connection {
                    return Ok(progress);
                }
                self.state = State::Ending;
            } else if count < buffer.len() && !ending {
                return Ok(progress);
            }
        }
    }
}

const WATCHED: EventFlags =
    EventFlags::IN.union(EventFlags::OUT).union(EventFlags::RDHUP).union(EventFlags::ET);
/// The peer has ended the connection: what follows the bytes must be read too.
const ENDING: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
const READABLE: EventFlags = EventFlags::IN.union(ENDING);
