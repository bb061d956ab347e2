//! `epoll`: the echo on a bare level-triggered epoll loop, the floor that the
//! runtimes are held against.
//!
//! One `recv` and one `send` for each event, one buffer for all connections;
//! only what a full send buffer did not take is kept, and then the connection
//! waits until it can be written.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, accept_with, recv, send, sockopt};

use super::RECEIVE_BUFFER_BYTES;
use super::workers::Readiness;

pub(super) fn run(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    let mut server = Server::new(listener)?;
    ready.announce();
    server.run()
}

struct Server {
    epoll: OwnedFd,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
}

struct Connection {
    socket: OwnedFd,
    /// What is still to be sent, and how much of it has been.
    unsent: Vec<u8>,
    sent: usize,
}

/// What becomes of a connection after an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Receive,
    Send,
    Close,
}

impl Server {
    fn new(listener: TcpListener) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        loop {
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                self.handle(event)?;
            }
        }
    }

    fn handle(&mut self, event: Event) -> io::Result<()> {
        let key = event.data.u64();
        if key == LISTENER {
            return self.accept();
        }
        let index = usize::try_from(key).map_err(io::Error::other)?;
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_mut) else {
            return Ok(());
        };
        let sending = !connection.unsent.is_empty();
        let next = if sending { connection.send_rest() } else { connection.echo(&mut self.buffer) };
        match next {
            Next::Send if !sending => self.watch(index, EventFlags::OUT),
            Next::Receive if sending => self.watch(index, EventFlags::IN),
            Next::Send | Next::Receive => Ok(()),
            Next::Close => {
                self.connections[index] = None;
                self.free.push(index);
                Ok(())
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        let socket = match accept_with(&self.listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok(socket) => socket,
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        sockopt::set_tcp_nodelay(&socket, true)?;
        let index = self.free.pop().unwrap_or(self.connections.len());
        epoll::add(&self.epoll, &socket, key(index), EventFlags::IN)?;
        let connection = Some(Connection { socket, unsent: Vec::new(), sent: 0 });
        if index == self.connections.len() {
            self.connections.push(connection);
        } else {
            self.connections[index] = connection;
        }
        Ok(())
    }

    fn watch(&self, index: usize, events: EventFlags) -> io::Result<()> {
        match &self.connections[index] {
            Some(connection) => Ok(epoll::modify(&self.epoll, &connection.socket, key(index), events)?),
            None => Ok(()),
        }
    }
}

impl Connection {
    fn echo(&mut self, buffer: &mut [u8]) -> Next {
        let received = match recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Next::Close,
            Ok((received, _)) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Next::Receive,
            Err(_) => return Next::Close,
        };
        let sent = match send(self.socket.as_fd(), &buffer[..received], SendFlags::NOSIGNAL) {
            Ok(sent) => sent,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(_) => return Next::Close,
        };
        if sent == received {
            return Next::Receive;
        }
        self.unsent.extend_from_slice(&buffer[sent..received]);
        Next::Send
    }

    fn send_rest(&mut self) -> Next {
        match send(self.socket.as_fd(), &self.unsent[self.sent..], SendFlags::NOSIGNAL) {
            Ok(sent) => self.sent += sent,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => return Next::Close,
        }
        if self.sent < self.unsent.len() {
            return Next::Send;
        }
        self.unsent.clear();
        self.sent = 0;
        Next::Receive
    }
}

fn key(index: usize) -> EventData {
    EventData::new_u64(index as u64)
}

const LISTENER: u64 = u64::MAX;
const EVENTS_PER_WAIT: usize = 256;
