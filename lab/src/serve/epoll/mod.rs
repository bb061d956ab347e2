//! `epoll`: a bare level-triggered epoll loop, no runtime; with `uring`, the floors
//! that the runtimes are held against.
//!
//! One `recv` and one `send` for each event of an echo, one buffer for all
//! connections; only what a full send buffer did not take is kept, and then the
//! connection waits until it can be written. What a connection does is in
//! `peer`.

mod peer;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use self::peer::{Next, Peer};
use super::RECEIVE_BUFFER_BYTES;
use super::session::Script;
use super::workers::Readiness;

pub(super) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let mut server = Server::new(listener, script)?;
    ready.announce();
    server.run()
}

struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    script: Script,
    peers: Vec<Option<Peer>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    /// Who pauses until when, with the number of that connection.
    pauses: BinaryHeap<Reverse<(Instant, usize, u64)>>,
    accepted: u64,
}

impl Server {
    fn new(listener: TcpListener, script: Script) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            script,
            peers: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
            pauses: BinaryHeap::new(),
            accepted: 0,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        loop {
            let timeout = self.until_next_pause_ends()?;
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                self.handle(event)?;
            }
            self.end_pauses()?;
        }
    }

    fn handle(&mut self, event: Event) -> io::Result<()> {
        let key = event.data.u64();
        if key == LISTENER {
            return self.accept();
        }
        let index = usize::try_from(key).map_err(io::Error::other)?;
        let Some(peer) = self.peers.get_mut(index).and_then(Option::as_mut) else {
            return Ok(());
        };
        let next = if peer.watched == EventFlags::IN {
            peer.receive(&mut self.buffer)
        } else if peer.watched == EventFlags::OUT {
            peer.go_on()
        } else {
            // Not even one that pauses can miss that its client is gone.
            Next::Close
        };
        self.follow(index, next)
    }

    /// Waits for what a connection has to wait for.
    fn follow(&mut self, index: usize, next: Next) -> io::Result<()> {
        let Some(peer) = self.peers[index].as_mut() else {
            return Ok(());
        };
        let wanted = match next {
            Next::Receive => EventFlags::IN,
            Next::Send => EventFlags::OUT,
            Next::Pause(time) => {
                self.pauses.push(Reverse((Instant::now() + time, index, peer.number)));
                EventFlags::empty()
            }
            Next::Close => {
                self.peers[index] = None;
                self.free.push(index);
                return Ok(());
            }
        };
        if wanted != peer.watched {
            epoll::modify(&self.epoll, &peer.socket, key(index), wanted)?;
            peer.watched = wanted;
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let socket = match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => socket,
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        sockopt::set_tcp_nodelay(&socket, true)?;
        let index = self.free.pop().unwrap_or(self.peers.len());
        epoll::add(&self.epoll, &socket, key(index), EventFlags::IN)?;
        self.accepted += 1;
        let peer = Some(Peer::new(socket, self.script.session(), self.accepted));
        if index == self.peers.len() {
            self.peers.push(peer);
        } else {
            self.peers[index] = peer;
        }
        Ok(())
    }

    fn until_next_pause_ends(&self) -> io::Result<Option<Timespec>> {
        let Some(Reverse((end, ..))) = self.pauses.peek() else {
            return Ok(None);
        };
        let left = end.saturating_duration_since(Instant::now());
        Timespec::try_from(left).map(Some).map_err(io::Error::other)
    }

    fn end_pauses(&mut self) -> io::Result<()> {
        while let Some(&Reverse((end, index, number))) = self.pauses.peek() {
            if end > Instant::now() {
                break;
            }
            self.pauses.pop();
            let peer = self.peers[index].as_mut();
            if let Some(next) = peer.filter(|peer| peer.number == number).map(Peer::go_on) {
                self.follow(index, next)?;
            }
        }
        Ok(())
    }
}

fn key(index: usize) -> EventData {
    EventData::new_u64(index as u64)
}

const LISTENER: u64 = u64::MAX;
const EVENTS_PER_WAIT: usize = 256;
