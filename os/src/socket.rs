//! A connected TCP socket outside of any runtime.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use corepool_core::backend::Socket;

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
}

/// The IP address of a socket.
pub(crate) fn address(any: Option<rustix::net::SocketAddrAny>) -> io::Result<SocketAddr> {
    let any = any.ok_or(io::ErrorKind::NotConnected)?;
    SocketAddr::try_from(any).map_err(|_not_ip| io::ErrorKind::InvalidData.into())
}
