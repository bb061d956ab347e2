//! Handshakes of a listening socket: how new ones are kept out, and how many are under way.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr as KernelAddr};
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

/// How many handshakes with the port of this address have begun and are not done.
///
/// The kernel is asked for just those (`sock_diag(7)`): `/proc/net/tcp` lists every socket of the machine, which
/// takes too long where there are many.
///
/// # Errors
/// The kernel does not tell.
pub(crate) fn half_open(local: SocketAddr) -> io::Result<usize> {
    // An IPv6 listener may have IPv4 clients, whose handshakes are listed as IPv6 as well.
    let (family, mut socket_id) =
        if local.is_ipv6() { (AF_INET6, SocketId::new_v6()) } else { (AF_INET, SocketId::new_v4()) };
    socket_id.source_port = local.port();
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::SYN_RECV,
        socket_id,
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&KernelAddr::new(0, 0))?; // the kernel's end
    socket.send(&bytes, 0)?;
    count(&socket)
}

/// Counts the sockets in an answer.
fn count(socket: &Socket) -> io::Result<usize> {
    let mut found = 0;
    loop {
        let (datagram, _from) = socket.recv_from_full()?;
        let mut rest = &datagram[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(rest).map_err(io::Error::other)?;
            match message.payload {
                NetlinkPayload::InnerMessage(_) => found += 1,
                NetlinkPayload::Done(_) => return Ok(found),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                _ => {}
            }
            let length = usize::try_from(message.header.length).unwrap_or(usize::MAX).max(1);
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}
