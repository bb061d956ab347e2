//! One connection of the bare epoll loop.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::serve::session::{Action, Session};

pub(super) struct Peer {
    pub(super) socket: OwnedFd,
    /// What the loop watches it for.
    pub(super) watched: EventFlags,
    /// Tells it from a later one in the same place.
    pub(super) number: u64,
    session: Session,
    /// What was received and is still to be sent back, if the shared buffer could
    /// not keep it.
    kept: Vec<u8>,
    unsent: Option<Unsent>,
}

/// What a full send buffer did not take.
#[derive(Clone, Copy)]
enum Unsent {
    /// What is kept, from here on.
    Kept(usize),
    Static(&'static [u8]),
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Receive,
    Send,
    Pause(Duration),
    Close,
}

impl Peer {
    pub(super) const fn new(socket: OwnedFd, session: Session, number: u64) -> Self {
        Self { socket, watched: EventFlags::IN, number, session, kept: Vec::new(), unsent: None }
    }

    /// Receives once, and does all that it can do about it.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Next {
        let received = match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Next::Close,
            Ok((received, _)) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Next::Receive,
            Err(_) => return Next::Close,
        };
        let chunk = &buffer[..received];
        self.session.receive(chunk);
        while let Some(action) = self.session.next() {
            let next = match action {
                Action::Echo => match self.send(chunk) {
                    Ok(sent) if sent == received => None,
                    Ok(sent) => {
                        self.keep(&chunk[sent..]);
                        self.unsent = Some(Unsent::Kept(0));
                        Some(Next::Send)
                    }
                    Err(next) => Some(next),
                },
                Action::Wait(time) => {
                    self.keep(chunk);
                    Some(Next::Pause(time))
                }
                other => self.act(other),
            };
            if let Some(next) = next {
                return next;
            }
        }
        Next::Receive
    }

    /// Goes on where a full send buffer or a pause has stopped it.
    pub(super) fn go_on(&mut self) -> Next {
        if let Some(next) = self.send_rest() {
            return next;
        }
        while let Some(action) = self.session.next() {
            if let Some(next) = self.act(action) {
                return next;
            }
        }
        Next::Receive
    }

    /// Does it with what is kept; says what to wait for if it takes longer.
    fn act(&mut self, action: Action) -> Option<Next> {
        self.unsent = match action {
            Action::Echo => Some(Unsent::Kept(0)),
            Action::Send(bytes) => Some(Unsent::Static(bytes)),
            Action::Wait(time) => return Some(Next::Pause(time)),
            Action::Close => return Some(Next::Close),
        };
        self.send_rest()
    }

    fn send_rest(&mut self) -> Option<Next> {
        let rest = match self.unsent? {
            Unsent::Kept(from) => &self.kept[from..],
            Unsent::Static(bytes) => bytes,
        };
        let sent = match self.send(rest) {
            Ok(sent) => sent,
            Err(next) => return Some(next),
        };
        let left = rest.len() - sent;
        self.unsent = match self.unsent? {
            _ if left == 0 => None,
            Unsent::Kept(from) => Some(Unsent::Kept(from + sent)),
            Unsent::Static(bytes) => Some(Unsent::Static(&bytes[sent..])),
        };
        (left > 0).then_some(Next::Send)
    }

    /// How much the kernel took.
    fn send(&self, bytes: &[u8]) -> Result<usize, Next> {
        match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(_) => Err(Next::Close),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept.clear();
        self.kept.extend_from_slice(bytes);
    }
}
