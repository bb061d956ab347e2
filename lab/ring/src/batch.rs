//! Sends on many sockets with one system call.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::Key;

/// A ring that does nothing but send, and nothing that would have to wait: when [`send`](Self::send) returns, the
/// kernel is done with every byte.
///
/// After it is dropped, the kernel takes it down by a signal to its thread: a system call that waits, and has a
/// timeout, can then fail once with `Interrupted`.
pub struct Batch {
    /// `None` once it has failed: what it had not sent then goes with it.
    ring: Option<IoUring>,
    operations: Vec<squeue::Entry>,
    completions: Vec<cqueue::Entry>,
}

impl Batch {
    /// With room for so many messages at once; with more it allocates.
    ///
    /// # Errors
    /// When the kernel refuses the ring.
    pub fn new(room: usize) -> io::Result<Self> {
        let ring = IoUring::builder().setup_clamp().build(ENTRIES)?;
        let (operations, completions) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Ok(Self { ring: Some(ring), operations, completions })
    }

    /// Sends as much of each message as its socket has room for, in this order, and appends what came of each to
    /// `outcomes`: how many bytes were taken, or the error, such as `WouldBlock`.
    ///
    /// # Errors
    /// When the ring fails, now or earlier; no outcome says then what has been sent.
    pub fn send<'a>(
        &mut self,
        messages: impl IntoIterator<Item = (Key, BorrowedFd<'a>, &'a [u8])>,
        outcomes: &mut Vec<(Key, io::Result<usize>)>,
    ) -> io::Result<()> {
        self.operations.clear();
        self.operations.extend(messages.into_iter().map(operation));
        self.completions.clear();
        let mut ring = self.ring.take().ok_or(io::ErrorKind::BrokenPipe)?;
        for operations in self.operations.chunks(ENTRIES as usize) {
            submit(&mut ring, operations, &mut self.completions)?;
        }
        self.ring = Some(ring);
        outcomes.extend(self.completions.iter().map(outcome));
        Ok(())
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("is_usable", &self.ring.is_some()).finish_non_exhaustive()
    }
}

fn operation((key, socket, bytes): (Key, BorrowedFd<'_>, &[u8])) -> squeue::Entry {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    opcode::Send::new(Fd(socket.as_raw_fd()), bytes.as_ptr(), length)
        .flags(DONT_WAIT | NO_SIGNAL)
        .build()
        .user_data(key as u64)
}

/// Returns when the kernel has completed all of them.
fn submit(
    ring: &mut IoUring,
    operations: &[squeue::Entry],
    completions: &mut Vec<cqueue::Entry>,
) -> io::Result<()> {
    // SAFETY: whoever calls `send` lends sockets and bytes until it returns. A send that may not wait is over when it
    // has been submitted; that all are over is seen below. If that fails the ring is dropped, and submits no more.
    unsafe { ring.submission().push_multiple(operations) }.map_err(io::Error::other)?;
    let wanted = completions.len() + operations.len();
    let mut at_least = 0;
    while completions.len() < wanted {
        match ring.submit_and_wait(at_least) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        completions.extend(ring.completion());
        at_least = 1;
    }
    Ok(())
}

fn outcome(completion: &cqueue::Entry) -> (Key, io::Result<usize>) {
    let result = usize::try_from(completion.result())
        .map_err(|_negative| io::Error::from_raw_os_error(-completion.result()));
    (completion.user_data() as Key, result)
}

/// Longer batches are sent in several.
const ENTRIES: u32 = 256;
/// `MSG_DONTWAIT` and `MSG_NOSIGNAL` of Linux.
const DONT_WAIT: i32 = 0x40;
const NO_SIGNAL: i32 = 0x4000;

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (ours, listener.accept().unwrap().0)
    }

    fn sent(batch: &mut Batch, sockets: &[(&TcpStream, &[u8])]) -> Vec<Result<usize, ErrorKind>> {
        let mut outcomes = Vec::new();
        let messages = sockets.iter().enumerate().map(|(key, (socket, bytes))| (key, socket.as_fd(), *bytes));
        batch.send(messages, &mut outcomes).unwrap();
        outcomes.sort_by_key(|(key, _)| *key);
        outcomes.into_iter().map(|(_, outcome)| outcome.map_err(|error| error.kind())).collect()
    }

    #[test]
    fn every_socket_gets_its_own_bytes_however_many_there_are() {
        let mut batch = Batch::new(1).unwrap();
        let pairs: Vec<_> = (0..2 * ENTRIES + 3).map(|_| pair()).collect();
        let bytes: Vec<_> = (0..pairs.len()).map(|key| (key as u64).to_le_bytes()).collect();
        let sockets: Vec<_> = pairs.iter().zip(&bytes).map(|((ours, _), bytes)| (ours, &bytes[..])).collect();
        for _ in 0..3 {
            assert_eq!(sent(&mut batch, &sockets), vec![Ok(8); pairs.len()]);
            for (key, (_, theirs)) in pairs.iter().enumerate() {
                let mut received = [0; 8];
                (&*theirs).read_exact(&mut received).unwrap();
                assert_eq!(u64::from_le_bytes(received), key as u64);
            }
        }
    }

    #[test]
    fn a_full_socket_takes_a_part_then_nothing_and_keeps_no_other_waiting() {
        let mut batch = Batch::new(1).unwrap();
        let ((full, _unread), (other, mut theirs), (closed, _)) = (pair(), pair(), pair());
        closed.shutdown(std::net::Shutdown::Write).unwrap();
        let much = vec![7; 64 << 20];
        let messages = [(&full, &much[..]), (&closed, b"lost"), (&other, b"sent")];
        let first = sent(&mut batch, &messages);
        assert!(first[0].is_ok_and(|count| 0 < count && count < much.len()), "{first:?}");
        assert_eq!(first[1..], [Err(ErrorKind::BrokenPipe), Ok(4)]);
        while sent(&mut batch, &messages[..1])[0].is_ok() {}
        assert_eq!(
            sent(&mut batch, &messages)[..],
            [Err(ErrorKind::WouldBlock), Err(ErrorKind::BrokenPipe), Ok(4)]
        );
        let mut received = [0; 8];
        theirs.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"sentsent");
    }
}
