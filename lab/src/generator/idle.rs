//! Connections that are open and send nothing.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};

use super::dialer::Dialer;

/// Opens so many, one after the other. Each sends one request and gets it back, so
/// that the server has what it keeps for a connection that has been used. From then
/// on they are watched only for their end.
pub(super) fn open(
    count: usize,
    dialer: &mut Dialer,
    request: &[u8],
    poll: &OwnedFd,
    key: u64,
) -> io::Result<Vec<TcpStream>> {
    let mut reply = vec![0; request.len()];
    let mut open = || {
        let mut stream = TcpStream::from(dialer.dial()?.socket);
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(request)?;
        stream.read_exact(&mut reply)?;
        epoll::add(poll, &stream, EventData::new_u64(key), EventFlags::RDHUP | EventFlags::ET)?;
        if reply == request {
            Ok(stream)
        } else {
            Err(io::Error::other("the server replied with wrong bytes"))
        }
    };
    (0..count)
        .map(|opened| {
            open().map_err(|error| {
                let text = format!("only {opened} of {count} idle connections could be opened: {error}");
                io::Error::new(error.kind(), text)
            })
        })
        .collect()
}

const PATIENCE: Duration = Duration::from_secs(10);
