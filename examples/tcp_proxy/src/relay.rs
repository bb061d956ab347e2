//! Bytes both ways between two connections.
//!
//! Each direction holds at most one chunk: nothing is received before what was received last has been taken by the
//! kernel of the other side. So a reader that is slow slows its writer down, end to end. The end of one side's
//! stream becomes the end of what the other side is sent, and the other direction goes on.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use corepool::{Backend, Duplex};

use crate::watchdog::Watched;

/// How many bytes went which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there are two ways")]
pub struct Relayed {
    /// From the first connection to the second.
    pub forth: u64,
    /// From the second to the first.
    pub back: u64,
}

/// Relays until both sides have finished.
///
/// # Errors
/// What either socket reports; or [`TimedOut`](io::ErrorKind::TimedOut) when `watched`, if given, says so.
///
/// # Cancel safety
/// None: what was received from one side and not sent to the other is lost when the future is dropped.
pub async fn relay<B: Backend>(
    client: &mut Duplex<B>,
    upstream: &mut Duplex<B>,
    watched: Option<&Watched>,
) -> io::Result<Relayed> {
    let (mut forth, mut back) = (Direction::default(), Direction::default());
    if let Some(watched) = watched {
        watched.expect(true);
    }
    poll_fn(|cx| -> Poll<io::Result<()>> {
        let moved = forth.bytes + back.bytes;
        let ended =
            forth.poll(client, upstream, cx)?.is_ready() & back.poll(upstream, client, cx)?.is_ready();
        if ended {
            return Poll::Ready(Ok(()));
        }
        let Some(watched) = watched else { return Poll::Pending };
        if forth.bytes + back.bytes > moved {
            watched.progress();
        }
        watched.poll_stalled(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    })
    .await?;
    Ok(Relayed { forth: forth.bytes, back: back.bytes })
}

/// One way.
#[derive(Default)]
struct Direction {
    bytes: u64,
    /// The sender has finished.
    at_end: bool,
    /// The receiver has been told.
    told: bool,
}

impl Direction {
    fn poll<B: Backend>(
        &mut self,
        from: &mut Duplex<B>,
        to: &mut Duplex<B>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.told {
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(to.poll_flush(cx))?;
            if self.at_end {
                break;
            }
            match ready!(from.poll_recv(cx))? {
                Some(chunk) => {
                    self.bytes += chunk.len() as u64;
                    // Begun by the call, finished by the flush above.
                    drop(to.send(chunk));
                }
                None => self.at_end = true,
            }
        }
        // Everything is flushed: this does not wait.
        ready!(pin!(to.finish()).poll(cx))?;
        self.told = true;
        Poll::Ready(Ok(()))
    }
}
