//! A connected TCP socket outside of any runtime.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use corepool_core::backend::Socket;
use rustix::event::{PollFd, PollFlags, Timespec};
use socket2::SockRef;

/// A connected TCP socket that belongs to no runtime.
///
/// It remembers whether it is known to be non-blocking, which saves a system call for each connection.
#[derive(Debug)]
pub struct TcpSocket {
    fd: OwnedFd,
    nonblocking: bool,
}

impl TcpSocket {
    /// A descriptor that is known to be in non-blocking mode.
    pub fn known_nonblocking(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: true }
    }

    /// The socket in non-blocking mode, for a runtime to take.
    ///
    /// # Errors
    /// The mode cannot be changed.
    pub fn into_nonblocking(self) -> io::Result<TcpStream> {
        let stream = TcpStream::from(self.fd);
        if !self.nonblocking {
            stream.set_nonblocking(true)?;
        }
        Ok(stream)
    }
}

/// A descriptor in any blocking mode.
impl From<OwnedFd> for TcpSocket {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: false }
    }
}

impl From<TcpStream> for TcpSocket {
    fn from(stream: TcpStream) -> Self {
        OwnedFd::from(stream).into()
    }
}

impl From<TcpSocket> for OwnedFd {
    fn from(socket: TcpSocket) -> Self {
        socket.fd
    }
}

impl Socket for TcpSocket {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        address(rustix::net::getpeername(&self.fd)?)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        address(Some(rustix::net::getsockname(&self.fd)?))
    }

    fn has_left(&self) -> bool {
        let mut polled = [PollFd::new(&self.fd, PollFlags::IN | PollFlags::RDHUP)];
        // When in doubt it is still there.
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if rustix::event::poll(&mut polled, Some(&at_once)).is_err() {
            return false;
        }
        let [polled] = polled;
        let is = |flags| polled.revents().intersects(flags);
        if is(PollFlags::HUP | PollFlags::ERR) {
            return true;
        }
        // Whoever has sent something and closed may still wait for an answer.
        is(PollFlags::RDHUP)
            && SockRef::from(&self.fd).peek(&mut [MaybeUninit::uninit()]).is_ok_and(|count| count == 0)
    }

    fn reset(self) {
        // If it cannot be a reset, an ordinary close must do.
        let _ = reset_on_close(&self.fd);
    }
}

/// Makes the close of a socket a reset.
///
/// # Errors
/// What `setsockopt(2)` reports.
pub fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))
}

/// The IP address of a socket.
pub(crate) fn address(any: Option<rustix::net::SocketAddrAny>) -> io::Result<SocketAddr> {
    let any = any.ok_or(io::ErrorKind::NotConnected)?;
    SocketAddr::try_from(any).map_err(|_not_ip| io::ErrorKind::InvalidData.into())
}
