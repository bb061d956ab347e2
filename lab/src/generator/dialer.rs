//! Opening connections to the server under test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

/// Opens connections to one address.
#[derive(Debug)]
pub(super) struct Dialer {
    target: SocketAddr,
    /// The last byte of the next source address, where they are rotated.
    source: Option<u8>,
}

/// A socket, and whether it is connected already.
pub(super) struct Dialed {
    pub(super) socket: OwnedFd,
    pub(super) connected: bool,
}

impl Dialer {
    /// `churn` says that connections are short: then those over IPv4 loopback
    /// come from many source addresses in turn, because the ports of a single
    /// one would soon all be in TIME_WAIT.
    pub(super) fn new(target: SocketAddr, churn: bool) -> Self {
        let rotates = churn && matches!(target.ip(), IpAddr::V4(address) if address.is_loopback());
        Self { target, source: rotates.then_some(FIRST_SOURCE) }
    }

    /// Begins to connect; on loopback that is usually done at once.
    pub(super) fn dial(&mut self) -> Result<Dialed, Errno> {
        let family = match self.target {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if self.target.ip().is_loopback() {
            // Nothing is congested there, and one that paces (bbr) costs timers. Every Linux has this one; where it is
            // not allowed, the default does.
            let _ = sockopt::set_tcp_congestion(&socket, "reno");
        }
        if let Some(source) = &mut self.source {
            let address = Ipv4Addr::new(127, 0, 0, *source);
            sockopt::set_socket_reuseaddr(&socket, true)?;
            bind(&socket, &SocketAddr::from((address, 0)))?;
            *source = if *source == LAST_SOURCE { FIRST_SOURCE } else { *source + 1 };
        }
        let connected = match connect(&socket, &self.target) {
            Ok(()) => true,
            Err(Errno::INPROGRESS | Errno::INTR) => false,
            Err(error) => return Err(error),
        };
        Ok(Dialed { socket, connected })
    }
}

const FIRST_SOURCE: u8 = 2;
const LAST_SOURCE: u8 = 253;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_connections_over_loopback_come_from_many_addresses() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut dialer = Dialer::new(listener.local_addr().unwrap(), true);
        let mut sources = Vec::new();
        for _ in 0..3 {
            let _socket = dialer.dial().unwrap();
            sources.push(listener.accept().unwrap().1.ip().to_string());
        }
        assert_eq!(sources, ["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
    }

    #[test]
    fn nobody_listening_is_an_error_now_or_later() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        match Dialer::new(address, false).dial() {
            Ok(dialed) => assert!(!dialed.connected),
            Err(error) => assert_eq!(error, Errno::CONNREFUSED),
        }
    }
}
