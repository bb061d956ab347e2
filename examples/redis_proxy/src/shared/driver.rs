//! The task of one shared upstream connection: connect, send what clients have submitted, deal out what comes back, and
//! connect again when it dies.
//!
//! Clients that the runtime wakes in one turn submit one after the other, and the driver runs after them: what they have
//! submitted leaves in one send, and their replies are received by one receive.

use std::future::poll_fn;
use std::io;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use corepool::backend::LoanOf;
use corepool::buffer::Buffer;
use corepool::{Backend, Chunk, Outbound};
use tcp_proxy::Watched;

use super::link::Link;
use super::mailbox::Mailbox;
use crate::answers;
use crate::proxy::Core;
use crate::resp::{Limits, Malformed, Replies};
use crate::upstream::Lease;

/// How long it waits after it could not connect, doubled each time up to the most.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MOST: Duration = Duration::from_secs(1);

/// How much of one reply is held back, so that its client can be told if the rest does not come.
const HELD_MAX: usize = 16 << 10;

/// From this length on a chunk that belongs to one client alone is passed on without a copy.
const LONG: usize = 4 << 10;

/// How many chunks are dealt out before the clients have a turn to send them on.
const CHUNKS_MAX: usize = 4;

/// Keeps the link connected until it is closed, or the core has gone.
pub(super) async fn drive<B: Backend>(link: Rc<Link<B>>, core: Weak<Core<B>>) {
    let mut retry = RETRY_FIRST;
    while let Some(core) = core.upgrade().filter(|_| !link.is_closed()) {
        let watched = core.watchdog.watch();
        let output_max = core.options.output_max;
        let tally = core.tally.clone();
        let leased = core.upstreams.get().await;
        drop(core); // a driver does not keep its core
        match leased {
            Ok(mut lease) => {
                (retry, ()) = (RETRY_FIRST, link.set_down(false));
                let mut driver = Driver::new(&link, &mut lease, &watched, output_max);
                let end = poll_fn(|cx| driver.poll(cx)).await;
                let is_reply_cut = driver.is_streaming;
                Lease::discard(lease);
                let lost = link.fail(answers::LOST, is_reply_cut, output_max);
                tally.count(|totals| &mut totals.lost, lost);
                if !link.is_closed() {
                    tally.count(|totals| &mut totals.upstreams_lost, 1);
                    tracing::debug!(%end, lost, "an upstream connection was lost");
                }
            }
            Err(error) => {
                tracing::debug!(%error, "no upstream connection");
                link.set_down(true);
                let unreached = link.fail(answers::UNREACHED, false, output_max);
                tally.count(|totals| &mut totals.unreached, unreached);
                B::sleep(retry).await;
                retry = (retry * 2).min(RETRY_MOST);
            }
        }
    }
}

/// A link that is connected.
struct Driver<'a, B: Backend> {
    link: &'a Link<B>,
    upstream: &'a mut Outbound<B>,
    watched: &'a Watched,
    output_max: usize,
    replies: Replies,
    /// The beginning of a reply.
    held: Option<Buffer>,
    /// Its client has a part of the reply at hand.
    is_streaming: bool,
}

impl<'a, B: Backend> Driver<'a, B> {
    fn new(
        link: &'a Link<B>,
        upstream: &'a mut Outbound<B>,
        watched: &'a Watched,
        output_max: usize,
    ) -> Self {
        let replies = Replies::new(Limits::REPLIES);
        Self { link, upstream, watched, output_max, replies, held: None, is_streaming: false }
    }

    /// Ready when the connection is lost, or the link closed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        self.link.remember_driver(cx.waker());
        if self.link.is_closed() {
            return Poll::Ready(io::ErrorKind::Interrupted.into());
        }
        match (self.send(cx), self.receive(cx)) {
            (Ok(sent), Ok(received)) => {
                if sent || received {
                    self.watched.expect(self.link.owed() > 0);
                    self.link.call_next();
                }
            }
            (Err(error), _) | (_, Err(error)) => return Poll::Ready(error),
        }
        self.watched.poll_stalled(cx).map(|()| io::ErrorKind::TimedOut.into())
    }

    /// Sends what there is; whether anything was sent.
    fn send(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut sent = false;
        while self.upstream.poll_flush(cx)?.is_ready() {
            let Some(piece) = self.link.pop_outgoing() else {
                self.link.set_blocked(false);
                return Ok(sent);
            };
            // Begun by the call, finished by the flush.
            drop(self.upstream.send(piece));
            sent = true;
        }
        self.link.set_blocked(true);
        Ok(sent)
    }

    /// Deals out what has come; whether anything has.
    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        for chunk in 0..CHUNKS_MAX {
            match self.upstream.poll_recv(cx)? {
                Poll::Ready(Some(received)) => self.deal_out(received)?,
                Poll::Ready(None) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Poll::Pending => return Ok(chunk > 0),
            }
        }
        cx.waker().wake_by_ref();
        Ok(true)
    }

    fn deal_out(&mut self, chunk: Chunk<LoanOf<B>>) -> io::Result<()> {
        let mut dealt = 0;
        while dealt < chunk.len() {
            let client =
                self.link.next_client().ok_or_else(|| invalid("a reply that nobody had asked for"))?;
            let run = self.next_run(&chunk, dealt);
            let is_whole_chunk =
                dealt == 0 && (run.end == chunk.len() || (self.is_streaming && run.end == 0));
            if is_whole_chunk && self.held.is_none() && chunk.len() >= LONG {
                // Nobody else has a part in it: it goes on as it is.
                self.is_streaming = !self.replies.is_between();
                client.push(chunk, self.output_max);
                return Ok(());
            }
            if run.end > dealt {
                self.give(&client, &chunk[dealt..run.end]);
                dealt = run.end;
            }
            if let Some(malformed) = run.malformed {
                return Err(invalid(malformed));
            }
            if run.is_last {
                self.begin(&client, &chunk[dealt..]);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Finds the whole replies of the next client from `start` on, and counts them as paid.
    fn next_run(&mut self, chunk: &[u8], start: usize) -> Run {
        let mut run = Run { end: start, is_last: true, malformed: None };
        loop {
            match self.replies.next(chunk, run.end) {
                Ok(Some(reply)) => {
                    run.end = reply.end;
                    if self.link.reply_came() == 0 {
                        return Run { is_last: false, ..run };
                    }
                }
                Ok(None) => return run,
                Err(malformed) => return Run { malformed: Some(malformed), ..run },
            }
        }
    }

    /// Gives a client whole replies, the first of which may have begun earlier.
    fn give(&mut self, client: &Mailbox<B>, bytes: &[u8]) {
        self.is_streaming = false;
        match self.held.take() {
            Some(mut held) if bytes.len() <= HELD_MAX => {
                held.extend_from_slice(bytes);
                client.push(held, self.output_max);
            }
            held => {
                if let Some(held) = held {
                    client.push(held, self.output_max);
                }
                client.copy(bytes, self.output_max);
            }
        }
    }

    /// Holds back the beginning of a reply, or gives it away if it is too long for that.
    fn begin(&mut self, client: &Mailbox<B>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if !self.is_streaming {
            let held = self.held.get_or_insert_with(|| self.upstream.buffer());
            held.extend_from_slice(bytes);
            if held.len() <= HELD_MAX {
                return;
            }
            self.is_streaming = true;
        }
        match self.held.take() {
            Some(held) => client.push(held, self.output_max),
            None => client.copy(bytes, self.output_max),
        }
    }
}

/// Replies in a chunk that belong to one client.
struct Run {
    /// Where the last whole one ends; where they begin, if none is whole.
    end: usize,
    /// Nothing of another client follows.
    is_last: bool,
    /// What is wrong with what follows.
    malformed: Option<Malformed>,
}

fn invalid(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
