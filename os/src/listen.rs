//! Listening sockets: claiming an address for a group of workers, and accepting without waiting.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use corepool_core::backend::{Bind, Socket as _};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use socket2::{Domain, Protocol, Socket, Type};

use crate::handshakes;
use crate::reserve::Keeper;
use crate::socket::{StreamSocket, ip_address};

/// A listening socket, non-blocking, that belongs to no runtime.
#[derive(Debug)]
pub struct ListenSocket {
    fd: OwnedFd,
    reserve: Keeper,
}

impl ListenSocket {
    /// Accepts one connection, non-blocking and closed on exec; `None` when nothing is queued.
    ///
    /// Connections that died in the queue are skipped, as `accept(2)` advises.
    ///
    /// # Errors
    /// No descriptors or no memory left, for example. The connection stays queued then.
    pub fn accept(&self) -> io::Result<Option<(StreamSocket, SocketAddr)>> {
        self.reserve.accept(|| self.accept_now())
    }

    fn accept_now(&self) -> io::Result<Option<(StreamSocket, SocketAddr)>> {
        loop {
            match rustix::net::acceptfrom_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
                Ok((fd, peer)) => return Ok(Some((StreamSocket::known_nonblocking(fd), ip_address(peer)?))),
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) if is_about_one_connection(error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl ListenSocket {
    /// Accepts one connection only to close it, with the descriptor that the process keeps in reserve; `None`
    /// when nothing is queued.
    ///
    /// # Errors
    /// As [`accept`](Self::accept); and `WouldBlock` when there is no reserve at the moment.
    pub fn shed(&self) -> io::Result<Option<SocketAddr>> {
        self.reserve.spend(|| {
            let accepted = self.accept_now()?;
            Ok(accepted.map(|(socket, peer)| {
                socket.reset();
                peer
            }))
        })
    }

    /// From now on no new handshake begins; those that have begun go on.
    ///
    /// # Errors
    /// The kernel does not allow a filter.
    pub fn refuse_new(&self) -> io::Result<()> {
        handshakes::keep_out(&self.fd)
    }

    /// How many handshakes have begun on this address and are not done.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn half_open(&self) -> io::Result<usize> {
        handshakes::half_open(ip_address(Some(rustix::net::getsockname(&self.fd)?))?)
    }
}

impl AsFd for ListenSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for ListenSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl From<ListenSocket> for OwnedFd {
    fn from(socket: ListenSocket) -> Self {
        socket.fd
    }
}

impl From<OwnedFd> for ListenSocket {
    fn from(fd: OwnedFd) -> Self {
        Self { fd, reserve: Keeper::new() }
    }
}

/// Errors that `accept(2)` passes on from the connection that it took off the queue.
fn is_about_one_connection(error: Errno) -> bool {
    matches!(
        error,
        Errno::INTR
            | Errno::CONNABORTED
            | Errno::PROTO
            | Errno::NETDOWN
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::NETUNREACH
            | Errno::OPNOTSUPP
            | Errno::PERM
    )
}

/// Binds one address once per worker, and claims it.
///
/// The first socket is bound and listens *without* `SO_REUSEPORT`, so that a second server that does the same
/// is refused by the kernel, atomically. Then it gets the option, and the others join it. A foreign program
/// of the same user that sets the option itself can still join; nobody can refuse that.
///
/// `TCP_NODELAY` is set here, because accepted sockets inherit it: no system call for each connection.
///
/// # Errors
/// The address is in use, not ours, or not allowed.
pub fn bind_group(bind: &Bind) -> io::Result<(SocketAddr, Vec<ListenSocket>)> {
    let first = new_socket(bind)?;
    first.bind(&bind.address.into())?;
    let backlog = i32::try_from(bind.backlog).unwrap_or(i32::MAX);
    first.listen(backlog)?;
    first.set_reuse_port(true)?;
    let local = first.local_addr()?;
    let resolved = local.as_socket().ok_or(io::ErrorKind::InvalidData)?;
    let mut group = vec![ListenSocket::from(OwnedFd::from(first))];
    while group.len() < bind.listeners {
        let next = new_socket(bind)?;
        next.set_reuse_port(true)?;
        next.bind(&local)?;
        next.listen(backlog)?;
        group.push(OwnedFd::from(next).into());
    }
    Ok((resolved, group))
}

fn new_socket(bind: &Bind) -> io::Result<Socket> {
    let socket =
        Socket::new(Domain::for_address(bind.address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    if bind.address.is_ipv6() {
        socket.set_only_v6(bind.v6_only)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    fn bind(address: SocketAddr, listeners: usize) -> Bind {
        Bind { address, listeners, backlog: 16, v6_only: false }
    }

    fn any_port() -> SocketAddr {
        "127.0.0.1:0".parse().expect("an address")
    }

    #[test]
    fn a_group_shares_the_port_that_was_resolved_once() {
        let (address, group) = bind_group(&bind(any_port(), 4)).expect("a group");
        assert_ne!(address.port(), 0);
        assert_eq!(group.len(), 4);
    }

    #[test]
    fn a_second_group_on_the_address_is_refused() {
        let (address, _group) = bind_group(&bind(any_port(), 2)).expect("a group");
        let error = bind_group(&bind(address, 2)).expect_err("claimed");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn of_many_groups_that_race_for_one_address_exactly_one_gets_it() {
        for _ in 0..50 {
            let (address, group) = bind_group(&bind(any_port(), 1)).expect("a group");
            drop(group);
            let start = std::sync::Barrier::new(4);
            let race = || {
                start.wait();
                let won = bind_group(&bind(address, 3)).ok();
                start.wait(); // nobody lets go before all have tried
                won.is_some()
            };
            let winners: usize = std::thread::scope(|scope| {
                let racers: Vec<_> = (0..4).map(|_| scope.spawn(race)).collect();
                racers.into_iter().map(|racer| usize::from(racer.join().expect("no panic"))).sum()
            });
            assert_eq!(winners, 1);
        }
    }

    #[test]
    fn a_listener_that_refuses_new_handshakes_keeps_what_it_has() {
        let (address, group) = bind_group(&bind(any_port(), 1)).expect("a group");
        let _early = TcpStream::connect(address).expect("connect");
        group[0].refuse_new().expect("a filter");
        let patience = Duration::from_millis(100);
        let late = TcpStream::connect_timeout(&address, patience).expect_err("nobody answers");
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(group[0].accept().expect("accept").is_some());
        assert_eq!(group[0].half_open().expect("/proc"), 0);
    }

    #[test]
    fn a_connection_that_is_shed_is_told() {
        let (address, group) = bind_group(&bind(any_port(), 1)).expect("a group");
        assert!(group[0].shed().expect("nothing queued").is_none());
        let mut client = TcpStream::connect(address).expect("connect");
        let peer = client.local_addr().expect("bound");
        assert_eq!(group[0].shed().expect("shed"), Some(peer));
        assert!(client.read(&mut [0]).is_err(), "a reset");
    }

    #[test]
    fn every_connection_to_the_group_can_be_accepted_from_one_of_its_members() {
        let (address, group) = bind_group(&bind(any_port(), 3)).expect("a group");
        let clients: Vec<_> = (0..12).map(|_| TcpStream::connect(address).expect("connect")).collect();
        let mut accepted = 0;
        while accepted < clients.len() {
            for member in &group {
                while member.accept().expect("accept").is_some() {
                    accepted += 1;
                }
            }
        }
        assert!(group.iter().all(|member| member.accept().expect("accept").is_none()));
    }
}
