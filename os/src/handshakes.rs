//! Handshakes of a listening socket: how new ones are kept out, and how many are under way.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use procfs::net::{TcpNetEntry, TcpState};
use socket2::{SockFilter, SockRef};

/// Lets through whatever is not the begin of a handshake. A filter of a TCP socket sees segments from their TCP
/// header on, whose 14th byte has the flags.
///
/// # Errors
/// The kernel does not allow it.
pub(crate) fn keep_out(listener: impl AsFd) -> io::Result<()> {
    const FLAGS_AT: u32 = 13;
    const SYN: u32 = 0x02;
    const SYN_OR_ACK: u32 = 0x12;
    const PASS: u32 = u32::MAX;
    const DROP: u32 = 0;
    let load_byte_absolute = 0x30;
    let and_constant = 0x54;
    let jump_if_equal = 0x15;
    let return_constant = 0x06;
    let program = [
        SockFilter::new(load_byte_absolute, 0, 0, FLAGS_AT),
        SockFilter::new(and_constant, 0, 0, SYN_OR_ACK),
        SockFilter::new(jump_if_equal, 0, 1, SYN),
        SockFilter::new(return_constant, 0, 0, DROP),
        SockFilter::new(return_constant, 0, 0, PASS),
    ];
    SockRef::from(&listener).attach_filter(&program)
}

/// How many handshakes with this address have begun and are not done.
///
/// # Errors
/// `/proc/net` cannot be read.
pub(crate) fn half_open(local: SocketAddr) -> io::Result<usize> {
    // An IPv6 listener may have IPv4 clients, whose handshakes are listed as IPv6 as well.
    let entries = if local.is_ipv6() { procfs::net::tcp6() } else { procfs::net::tcp() };
    let entries = entries.map_err(io::Error::other)?;
    let is_half_open =
        |entry: &TcpNetEntry| entry.state == TcpState::SynRecv && entry.local_address.port() == local.port();
    Ok(entries.iter().filter(|entry| is_half_open(entry)).count())
}
