//! Requests and their replies over one upstream connection that one client has for a while.
//!
//! Requests are passed on as they come, as many as there are, and replies as they come back. It is over when every
//! request has its reply, and the connection can serve somebody else.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use corepool::backend::{LoanOf, SendBuf};
use corepool::{Backend, Chunk, Connection, Outbound};
use tcp_proxy::Watched;

use crate::assembler::Assembler;
use crate::intake::{Batch, Intake, Then};
use crate::resp::{Limits, Replies};

/// How many replies a client may be owed. It is read no further until some have come.
const OWED_MAX: u64 = 16 << 10;

/// How an exchange ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Every request has its reply, and the upstream connection is as it was.
    Clean,
    /// The client goes on alone with the connection; what it sent is on its way.
    Bound,
    /// Every request has its reply, but the upstream connection has a part of a request on its mind.
    Dirty,
    /// The upstream died, or sent what nobody had asked for, or did not answer for too long.
    UpstreamLost,
    /// The client did not send the rest of a request, or did not read its replies, for too long.
    ClientStalled,
    /// The client is gone.
    ClientGone(io::Error),
}

/// One exchange.
pub(crate) struct Exchange<'a, B: Backend> {
    pub(crate) client: &'a mut Connection<B>,
    pub(crate) upstream: &'a mut Outbound<B>,
    pub(crate) intake: &'a mut Intake,
    pub(crate) watched: &'a Watched,
    replies: Replies,
    back: Assembler,
    pending: Option<SendBuf<LoanOf<B>>>,
    /// How many replies are still to come.
    owed: u64,
    /// What follows after the requests so far.
    then: Then,
    /// The client has finished.
    at_end: bool,
}

impl<'a, B: Backend> Exchange<'a, B> {
    pub(crate) fn new(
        client: &'a mut Connection<B>,
        upstream: &'a mut Outbound<B>,
        intake: &'a mut Intake,
        watched: &'a Watched,
        first: Batch<B>,
    ) -> Self {
        let (pending, owed, then) = (first.bytes, first.replies, first.then);
        let (replies, back) = (Replies::new(Limits::REPLIES), Assembler::default());
        Self { client, upstream, intake, watched, replies, back, pending, owed, then, at_end: false }
    }

    /// Runs until it is over.
    pub(crate) async fn run(&mut self) -> End {
        self.watched.expect(true);
        let end = poll_fn(|cx| self.poll(cx)).await;
        self.watched.expect(false);
        end
    }

    /// How many replies were still to come.
    pub(crate) fn owed(&self) -> u64 {
        self.owed
    }

    /// What follows after the requests.
    pub(crate) fn then(&self) -> Then {
        self.then
    }

    /// Whether the client has finished.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the client has a part of a reply, and not its end.
    pub(crate) fn is_reply_cut(&self) -> bool {
        self.back.is_midway()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        loop {
            let forth = self.pass_requests(cx);
            if let Poll::Ready(end) = self.pass_replies(cx) {
                return Poll::Ready(end);
            }
            match forth {
                Poll::Ready(Err(_upstream)) => return Poll::Ready(End::UpstreamLost),
                Poll::Ready(Ok(())) if self.is_over() => return Poll::Ready(self.over()),
                Poll::Ready(Ok(())) => {}
                Poll::Pending => break,
            }
            match self.take_requests(cx) {
                Poll::Ready(Ok(())) => self.watched.progress(),
                Poll::Ready(Err(error)) => return Poll::Ready(End::ClientGone(error)),
                Poll::Pending => break,
            }
        }
        self.watched.poll_stalled(cx).map(|()| self.who_stalled(cx))
    }

    fn who_stalled(&mut self, cx: &mut Context<'_>) -> End {
        if self.owed == 0 || self.client.poll_flush(cx).is_pending() {
            End::ClientStalled
        } else {
            End::UpstreamLost
        }
    }

    /// Ready when nothing is left to be sent to the upstream.
    fn pass_requests(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.upstream.poll_flush(cx)?.is_pending() {
            return Poll::Pending;
        }
        let Some(bytes) = self.pending.take() else { return Poll::Ready(Ok(())) };
        self.watched.progress();
        // Begun by the call, finished by the flush.
        drop(self.upstream.send(bytes));
        self.upstream.poll_flush(cx)
    }

    /// Passes on what has come; ready when the exchange cannot go on.
    fn pass_replies(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        while self.owed > 0 {
            match self.client.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(End::ClientGone(error)),
                Poll::Pending => return Poll::Pending,
            }
            let Poll::Ready(received) = self.upstream.poll_recv(cx) else { return Poll::Pending };
            self.watched.progress();
            let Ok(Some(chunk)) = received else { return Poll::Ready(End::UpstreamLost) };
            if !self.reply(chunk) {
                return Poll::Ready(End::UpstreamLost);
            }
        }
        Poll::Pending
    }

    /// Passes one chunk on; false if it is not what it should be.
    fn reply(&mut self, chunk: Chunk<LoanOf<B>>) -> bool {
        let mut end = 0;
        let fine = loop {
            if self.owed == 0 {
                break end == chunk.len();
            }
            match self.replies.next(&chunk, end) {
                Ok(Some(reply)) => (self.owed, end) = (self.owed - 1, reply.end),
                Ok(None) => break true,
                Err(_malformed) => break false,
            }
        };
        let client = &mut *self.client;
        let bytes = if fine {
            self.back.take(chunk, end, self.replies.is_between(), || client.buffer())
        } else {
            self.back.complete(&chunk, end, || client.buffer())
        };
        if let Some(bytes) = bytes {
            drop(client.send(bytes));
        }
        fine
    }

    /// Takes more requests while there may be more; ready when some have come, or the end.
    fn take_requests(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.at_end || self.then != Then::More || self.owed >= OWED_MAX {
            return Poll::Pending;
        }
        match self.client.poll_recv(cx)? {
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                self.at_end = true;
                Poll::Ready(if self.intake.is_midway() {
                    Err(io::ErrorKind::UnexpectedEof.into())
                } else {
                    Ok(())
                })
            }
            Poll::Ready(Some(chunk)) => {
                let client = &*self.client;
                let batch = self.intake.take::<B>(chunk, || client.buffer());
                self.owed += batch.replies;
                (self.pending, self.then) = (batch.bytes, batch.then);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Everything has been passed on both ways.
    fn is_over(&self) -> bool {
        self.pending.is_none() && (self.then == Then::Bind || (self.owed == 0 && !self.waits_for_the_rest()))
    }

    /// A part of a request has been passed on, and its rest is still to come.
    fn waits_for_the_rest(&self) -> bool {
        self.intake.is_midway() && self.then == Then::More
    }

    fn over(&mut self) -> End {
        match self.then {
            Then::Bind => {
                let held = self.back.take_held();
                if let Some(held) = held {
                    drop(self.client.send(held));
                }
                End::Bound
            }
            _ if self.intake.is_midway() => End::Dirty,
            _ => End::Clean,
        }
    }
}
