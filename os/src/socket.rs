//! A stream socket, TCP or Unix, outside of any runtime; and how one is connected.

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use corepool_core::address::Address;
use corepool_core::backend::Socket;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix};
use socket2::{Domain, Protocol, SockAddr, SockRef, Type};

/// A stream socket, TCP or Unix, that belongs to no runtime.
///
/// It remembers whether it is known to be non-blocking, which saves a system call for each connection.
#[derive(Debug)]
pub struct StreamSocket {
    fd: OwnedFd,
    nonblocking: bool,
}

impl StreamSocket {
    /// A descriptor that is known to be in non-blocking mode.
    pub fn known_nonblocking(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: true }
    }

    /// The socket in non-blocking mode, for a runtime to take; of `std`'s type for TCP, whatever it is.
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
impl From<OwnedFd> for StreamSocket {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, nonblocking: false }
    }
}

impl From<TcpStream> for StreamSocket {
    fn from(stream: TcpStream) -> Self {
        OwnedFd::from(stream).into()
    }
}

impl From<StreamSocket> for OwnedFd {
    fn from(socket: StreamSocket) -> Self {
        socket.fd
    }
}

impl Socket for StreamSocket {
    fn connect(to: &Address) -> io::Result<Self> {
        let (domain, protocol, address) = match to {
            Address::Ip(ip) => (Domain::for_address(*ip), Some(Protocol::TCP), SockAddr::from(*ip)),
            Address::Unix(path) => (Domain::UNIX, None, SockAddr::unix(path)?),
        };
        let socket = socket2::Socket::new(domain, Type::STREAM.nonblocking(), protocol)?;
        if protocol.is_some() {
            socket.set_tcp_nodelay(true)?;
        }
        match socket.connect(&address) {
            Err(error) if !is_under_way(&error) => Err(error),
            _ => Ok(Self::known_nonblocking(socket.into())),
        }
    }

    fn peer_addr(&self) -> io::Result<Address> {
        address(rustix::net::getpeername(&self.fd)?)
    }

    fn local_addr(&self) -> io::Result<Address> {
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

fn is_under_way(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}

/// What has become of a connect, when the socket says that it can be written to, or that it has failed.
///
/// # Errors
/// What the socket reports. A connection to itself is refused: TCP makes one when the port that the kernel chooses for
/// our end happens to be the port that is connected to, and nobody listens there. It would be taken for the server, and
/// keep the server from its port.
pub fn outcome_of_connect(socket: &impl AsFd) -> io::Result<()> {
    rustix::net::sockopt::socket_error(socket)??;
    let peer = rustix::net::getpeername(socket)?;
    let is_ip = peer.as_ref().is_some_and(|peer| peer.address_family() != AddressFamily::UNIX);
    if is_ip && peer.as_ref() == Some(&rustix::net::getsockname(socket)?) {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(())
}

/// The address of a socket, as the kernel tells it.
fn address(any: Option<SocketAddrAny>) -> io::Result<Address> {
    let any = any.ok_or(io::ErrorKind::NotConnected)?;
    match SocketAddrUnix::try_from(any.clone()) {
        Ok(unix) => Ok(Address::Unix(path_of(&unix))),
        Err(_not_unix) => ip_address(Some(any)).map(Address::Ip),
    }
}

fn path_of(address: &SocketAddrUnix) -> PathBuf {
    let path = match address.abstract_name() {
        Some(name) if !name.is_empty() => [b"\0", name].concat(),
        // An unnamed one is told as having an empty name.
        _ => address.path_bytes().unwrap_or_default().to_vec(),
    };
    PathBuf::from(OsString::from_vec(path))
}

/// The IP address of a socket.
pub(crate) fn ip_address(any: Option<SocketAddrAny>) -> io::Result<SocketAddr> {
    let any = any.ok_or(io::ErrorKind::NotConnected)?;
    SocketAddr::try_from(any).map_err(|_not_ip| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_to_itself_is_refused() {
        // A port that nobody listens on, and that our end has been given: the kernel connects the two.
        let socket = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a port");
        socket.connect(&socket.local_addr().expect("an address")).expect("itself");
        let error = outcome_of_connect(&socket).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn a_unix_socket_tells_its_addresses() {
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let socket = StreamSocket::from(OwnedFd::from(ours));
        let unnamed = Address::Unix(PathBuf::new());
        assert_eq!(socket.peer_addr().expect("an address"), unnamed);
        assert_eq!(socket.local_addr().expect("an address"), unnamed);
        outcome_of_connect(&socket.fd).expect("connected");
    }
}
