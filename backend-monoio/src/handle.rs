//! Descriptors on their way into monoio and out again.
//!
//! One of the two files with `unsafe` code: monoio takes and gives raw descriptors only.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use monoio::net::TcpStream;

/// Takes a descriptor into the runtime of this thread.
///
/// monoio has one type with which anything that can be polled can be waited for, and that gives its descriptor
/// back: a TCP stream. It asks nothing of the descriptor here.
pub(crate) fn attach(fd: OwnedFd) -> io::Result<(TcpStream, Handle)> {
    let stream = TcpStream::from_std(fd.into())?;
    let handle = Handle(stream.as_raw_fd());
    Ok((stream, handle))
}

/// The descriptor of a stream that is in monoio's hands: kept beside the stream, and let go of with it.
#[derive(Debug)]
pub(crate) struct Handle(RawFd);

impl Handle {
    /// Gives the descriptor back. No operation may be in flight on it, not even one that was dropped: monoio
    /// panics then.
    pub(crate) fn detach(self, stream: TcpStream) -> OwnedFd {
        let fd = stream.into_raw_fd();
        assert_eq!(fd, self.0, "a stream is detached with its own handle");
        // SAFETY: `into_raw_fd` has given up the ownership, and the number is of an `OwnedFd` that `attach` took.
        unsafe { OwnedFd::from_raw_fd(fd) }
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the stream, which this handle is kept beside, has the descriptor open until `detach`, which
        // takes the handle as well.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}
