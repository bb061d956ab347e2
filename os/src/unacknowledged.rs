//! How much of what was sent a peer has not acknowledged.
#![expect(unsafe_code, reason = "no safe crate knows this ioctl")]

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// `SIOCOUTQ`, also known as `TIOCOUTQ`.
const SIOCOUTQ: Opcode = 0x5411;

/// How many bytes the kernel has taken from us, and the peer has not acknowledged.
///
/// # Errors
/// The descriptor is no connected socket.
pub fn unacknowledged(socket: impl AsFd) -> io::Result<usize> {
    // SAFETY: the opcode is one that writes a single int, which is the output type here.
    let request = unsafe { Getter::<SIOCOUTQ, c_int>::new() };
    // SAFETY: the request is valid for a socket; the kernel refuses it for anything else.
    let count = unsafe { ioctl(socket, request) }?;
    Ok(usize::try_from(count).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn it_grows_until_nothing_more_is_taken_and_falls_when_the_peer_reads() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("connect");
        let (mut server, _) = listener.accept().expect("accept");
        assert_eq!(unacknowledged(&client).expect("a socket"), 0);
        client.set_nonblocking(true).expect("a mode");
        while client.write(&[0; 65536]).map_err(|error| error.kind()) != Err(ErrorKind::WouldBlock) {}
        assert!(unacknowledged(&client).expect("a socket") > 0);
        drop(client);
        assert!(io::copy(&mut server, &mut io::sink()).expect("read") > 0);
        let file = std::fs::File::open("/dev/null").expect("a file");
        assert!(unacknowledged(&file).is_err());
    }
}
