//! `uring` and `uring-multishot`: a bare `io_uring` loop, no runtime; with `epoll`,
//! the floors that the runtimes are held against.

use std::io;
use std::net::TcpListener;

use corepool_lab_ring::{Event, Key, Receive, Ring};

use super::ring::explain;
use super::session::{Action, Script, Session};
use super::workers::Readiness;

/// One receive for each message.
pub(super) fn run_single_shot(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    serve(listener, Receive::SingleShot, script, ready)
}

/// One receive for each connection, into buffers that they share.
pub(super) fn run_multishot(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    serve(listener, Receive::Multishot, script, ready)
}

fn serve(listener: TcpListener, receive: Receive, script: Script, ready: Readiness) -> io::Result<()> {
    listener.set_nonblocking(false)?;
    let mut ring = Ring::new(listener, receive).map_err(explain)?;
    ready.announce();
    let mut sessions: Vec<Session> = Vec::new();
    loop {
        match ring.next_event()? {
            Event::Accepted(key) => {
                sessions.resize_with(sessions.len().max(key + 1), || script.session());
                sessions[key] = script.session();
                ring.receive(key)?;
            }
            Event::Received(key) => {
                sessions[key].receive(ring.chunk(key));
                advance(&mut ring, key, &mut sessions[key])?;
            }
            Event::Sent(key) | Event::Paused(key) => advance(&mut ring, key, &mut sessions[key])?,
            Event::Ended(key) => ring.close(key),
        }
    }
}

fn advance(ring: &mut Ring, key: Key, session: &mut Session) -> io::Result<()> {
    match session.next() {
        Some(Action::Echo) => ring.send_chunk(key),
        Some(Action::Send(bytes)) => ring.send(key, bytes),
        Some(Action::Wait(time)) => ring.pause(key, time),
        Some(Action::Close) => {
            ring.close(key);
            Ok(())
        }
        None => ring.receive(key),
    }
}
