//! One to one: a client has an upstream connection of its own for as long as its requests need one.
//!
//! Between requests it has none. A command that binds state to the connection makes it the client's for good, and it is
//! thrown away afterwards.

use std::io;

use corepool::{Backend, Connection};
use tcp_proxy::{Watched, relay};

use crate::answers::{self, Cut};
use crate::exchange::{End, Exchange};
use crate::intake::{Batch, Intake, Then};
use crate::proxy::Core;
use crate::upstream::Lease;

/// Serves one client to its end.
pub(crate) async fn serve<B: Backend>(mut client: Connection<B>, core: &Core<B>) -> io::Result<()> {
    let watched = core.watchdog.watch();
    let mut intake = Intake::new(core.options.limits);
    loop {
        client.flush().await?;
        // Whoever dawdles in the middle of a request has no lease, and may take its time; the server's limit of
        // connections is for those.
        let Some(chunk) = client.recv().await? else { return Ok(()) };
        let batch = intake.take::<B>(chunk, || client.buffer());
        if batch.replies == 0 && batch.then == Then::More && !intake.is_midway() {
            continue;
        }
        let mut session = Session { client: &mut client, core, intake: &mut intake, watched: &watched };
        if session.serve(batch).await?.is_over() {
            return Ok(());
        }
    }
}

/// Whether a client is done.
enum Next {
    Go,
    Over,
}

impl Next {
    fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }
}

struct Session<'a, B: Backend> {
    client: &'a mut Connection<B>,
    core: &'a Core<B>,
    intake: &'a mut Intake,
    watched: &'a Watched,
}

impl<B: Backend> Session<'_, B> {
    /// Serves a batch, and what comes while it is served.
    async fn serve(&mut self, batch: Batch<B>) -> io::Result<Next> {
        if batch.bytes.is_none() {
            return self.follow(batch.then).await;
        }
        let mut lease = match self.core.upstreams.get().await {
            Ok(lease) => lease,
            Err(error) => {
                tracing::debug!(%error, "no upstream connection");
                self.core.tally.count(|totals| &mut totals.unreached, batch.replies);
                return self.refuse(batch.replies, answers::UNREACHED, batch.then).await;
            }
        };
        let mut exchange = Exchange::new(self.client, &mut lease, self.intake, self.watched, batch);
        let end = exchange.run().await;
        let (owed, then, at_end) = (exchange.owed(), exchange.then(), exchange.is_at_end());
        let reply_cut = exchange.is_reply_cut();
        match end {
            End::Clean => {
                lease.settle();
                drop(lease);
                if at_end { Ok(Next::Over) } else { self.follow(then).await }
            }
            End::Bound => self.bind(lease).await,
            End::ClientGone(error) => {
                Lease::discard(lease);
                Err(error)
            }
            End::Dirty => {
                Lease::discard(lease);
                self.follow(then).await
            }
            End::ClientStalled => {
                Lease::discard(lease);
                self.cut(Cut::Stalled).await
            }
            End::UpstreamLost => {
                Lease::discard(lease);
                self.core.tally.count(|totals| &mut totals.upstreams_lost, 1);
                if reply_cut {
                    return self.cut(Cut::ReplyCut).await;
                }
                self.core.tally.count(|totals| &mut totals.lost, owed);
                self.refuse(owed, answers::LOST, then).await
            }
        }
    }

    /// Answers every request with an error, in order, and goes on where that is possible.
    async fn refuse(&mut self, owed: u64, answer: &'static str, then: Then) -> io::Result<Next> {
        if owed > 0 {
            self.client.send(answer.repeat(usize::try_from(owed).unwrap_or(0)).into_bytes()).await?;
        }
        match then {
            // What comes next is the rest of a request, or belongs to a connection that is no more.
            Then::Bind => self.cut(Cut::RequestCut).await,
            Then::More if self.intake.is_midway() => self.cut(Cut::RequestCut).await,
            Then::More => Ok(Next::Go),
            Then::Quit | Then::Cut(_) => self.follow(then).await,
        }
    }

    /// Does what follows after the requests.
    async fn follow(&mut self, then: Then) -> io::Result<Next> {
        match then {
            Then::More | Then::Bind => Ok(Next::Go),
            Then::Quit => {
                self.client.send(answers::OK).await?;
                Ok(Next::Over)
            }
            Then::Cut(cut) => self.cut(cut).await,
        }
    }

    async fn cut(&mut self, cut: Cut) -> io::Result<Next> {
        self.core.tally.cut(cut);
        let answer = cut.answer();
        if !answer.is_empty() {
            self.client.send(answer).await?;
        }
        Err(cut.into())
    }

    async fn bind(&mut self, mut lease: Lease<B>) -> io::Result<Next> {
        self.core.tally.count(|totals| &mut totals.bound, 1);
        // A subscriber may be silent for as long as it likes.
        let relayed = relay(self.client, &mut lease, None).await;
        Lease::discard(lease);
        relayed.map(|_bytes| Next::Over)
    }
}
