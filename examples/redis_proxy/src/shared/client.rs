//! The handler of one client of shared connections: submits what it asks, sends what has come back for it.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use corepool::backend::LoanOf;
use corepool::buffer::Buffer;
use corepool::{Backend, Chunk, Connection};
use tcp_proxy::Watched;

use super::Shared;
use super::link::Link;
use super::mailbox::Mailbox;
use crate::answers::{self, Cut};
use crate::command::{Commands, Kind};
use crate::proxy::Core;

/// While so many bytes wait to be sent to a client, it is read no further.
const OUTPUT_PAUSE: usize = 64 << 10;

/// How many requests are answered in one go while there is no upstream connection.
const REFUSED_MAX: u32 = 256;

/// Serves one client to its end.
pub(crate) async fn serve<B: Backend>(
    connection: Connection<B>,
    core: &Core<B>,
    shared: &Shared<B>,
) -> io::Result<()> {
    let mut client = Client {
        core,
        shared,
        mailbox: Rc::new(Mailbox::new(connection)),
        link: None,
        commands: Commands::new(core.options.limits),
        watched: core.watchdog.watch(),
        watching: Cell::new(false),
        input: None,
        begun: None,
        then: Then::More,
    };
    poll_fn(|cx| client.poll(cx)).await
}

struct Client<'a, B: Backend> {
    core: &'a Core<B>,
    shared: &'a Shared<B>,
    mailbox: Rc<Mailbox<B>>,
    /// The connection that owes it replies, or in whose queue it is.
    link: Option<Rc<Link<B>>>,
    commands: Commands,
    watched: Watched,
    /// A send is watched.
    watching: Cell<bool>,
    /// What was received and is not submitted yet: from this offset on.
    input: Option<(Chunk<LoanOf<B>>, usize)>,
    /// The beginning of a request.
    begun: Option<Buffer>,
    then: Then,
}

/// What follows when all replies have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// More requests.
    More,
    /// A command is refused, and more requests follow.
    Refuse,
    /// The client has said goodbye.
    Quit,
    /// The client is cut off.
    Cut(Cut),
    /// Nothing, once everything is sent.
    End(Option<Cut>),
}

/// Commands in a row.
struct Run {
    /// How many replies they have.
    replies: u32,
    /// Where the last of them ends.
    end: usize,
    /// What follows.
    then: Then,
    /// Where the parser is.
    at: usize,
    /// The parser has seen the whole input.
    is_used_up: bool,
}

impl<B: Backend> Client<'_, B> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.mailbox.remember(cx.waker());
        loop {
            if let Some(cut) = self.mailbox.take_cut() {
                self.core.tally.cut(cut);
                return Poll::Ready(Err(cut.into()));
            }
            if let Some(error) = self.mailbox.take_failure() {
                return Poll::Ready(Err(error));
            }
            let is_flushed = self.send(cx)?;
            if self.mailbox.owed() == 0 && self.answer() {
                continue;
            }
            if let (Then::End(cut), 0, true) = (self.then, self.mailbox.owed(), is_flushed) {
                return Poll::Ready(cut.map_or(Ok(()), |cut| Err(cut.into())));
            }
            if !self.take(cx)? {
                break;
            }
        }
        // Whoever waits for replies in order to go on is told of each.
        self.mailbox.attentive.set(self.then != Then::More || self.input.is_some());
        if !self.watching.get() {
            return Poll::Pending;
        }
        self.watched.poll_stalled(cx).map(|()| {
            self.core.tally.cut(Cut::Stalled);
            Err(Cut::Stalled.into())
        })
    }

    /// Finishes what was begun to be sent, and sends what waits; whether all of it is sent.
    fn send(&self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mailbox = &*self.mailbox;
        while mailbox.busy.get() || mailbox.waiting() > 0 {
            // A client that does not read is watched.
            if !self.watching.replace(true) {
                self.watched.expect(true);
            }
            let mut connection = mailbox.connection.borrow_mut();
            let Some(client) = connection.as_mut() else { return Ok(true) };
            if client.poll_flush(cx)?.is_pending() {
                return Ok(false);
            }
            match mailbox.pop() {
                Some(piece) => {
                    // Begun by the call, finished by the flush.
                    drop(client.send(piece));
                    mailbox.busy.set(true);
                    self.watched.progress();
                }
                None => {
                    mailbox.busy.set(false);
                    self.watched.expect(false);
                    self.watching.set(false);
                }
            }
        }
        Ok(true)
    }

    /// Gives the proxy's own answer behind all replies; whether there was one to give.
    fn answer(&mut self) -> bool {
        let tally = &self.core.tally;
        let (then, answer) = match self.then {
            Then::More | Then::End(_) => return false,
            Then::Refuse => {
                tally.count(|totals| &mut totals.refused, 1);
                (Then::More, answers::BINDS.as_bytes().to_vec())
            }
            Then::Quit => (Then::End(None), answers::OK.as_bytes().to_vec()),
            Then::Cut(cut) => {
                tally.cut(cut);
                (Then::End(Some(cut)), cut.answer())
            }
        };
        self.then = then;
        self.mailbox.push(answer, self.core.options.output_max);
        true
    }

    /// Takes requests; whether any have come, or the end.
    fn take(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.then != Then::More {
            return Ok(false);
        }
        if self.mailbox.waiting() > OUTPUT_PAUSE {
            if let Some(link) = &self.link {
                link.forget(&self.mailbox); // it keeps nobody waiting behind it
            }
            return Ok(false);
        }
        if let Some((chunk, at)) = self.input.take() {
            return Ok(self.submit(chunk, at));
        }
        Ok(match self.receive(cx)? {
            Poll::Pending => false,
            Poll::Ready(None) => {
                self.then = Then::End(None);
                true
            }
            Poll::Ready(Some(chunk)) => self.submit(chunk, 0),
        })
    }

    fn receive(&self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Chunk<LoanOf<B>>>>> {
        let mut connection = self.mailbox.connection.borrow_mut();
        connection.as_mut().map_or(Poll::Ready(Ok(None)), |client| client.poll_recv(cx))
    }

    fn buffer(&self) -> Buffer {
        let connection = self.mailbox.connection.borrow();
        connection.as_ref().map_or_else(|| Vec::new().into(), |client| client.buffer())
    }

    /// Submits requests from this offset on, as many as there is room for; false when it has to wait for room.
    fn submit(&mut self, chunk: Chunk<LoanOf<B>>, at: usize) -> bool {
        let link = self.link();
        let room = link.as_ref().map_or(REFUSED_MAX, |link| link.room(&self.mailbox));
        if room == 0 {
            self.input = Some((chunk, at));
            return false;
        }
        let run = self.next_run(&chunk, at, room);
        if run.end > at {
            let begun = self.begun.take();
            match (&link, run.replies) {
                (_, 0) => {}
                (Some(link), replies) => {
                    link.submit(&self.mailbox, begun, &chunk[at..run.end], replies, || self.buffer());
                }
                (None, replies) => {
                    self.core.tally.count(|totals| &mut totals.unreached, replies.into());
                    let answer = answers::UNREACHED.repeat(replies as usize).into_bytes();
                    self.mailbox.push(answer, self.core.options.output_max);
                }
            }
        }
        if let Some(link) = link {
            link.call_next();
        }
        self.keep_rest(chunk, &run);
        true
    }

    /// The connection to ask: the one that owes replies, so that they come in order, or else the least busy.
    fn link(&mut self) -> Option<Rc<Link<B>>> {
        let is_bound = self.mailbox.owed() > 0 || self.mailbox.queued.get() || self.mailbox.called.get();
        if !is_bound || self.link.as_ref().is_none_or(|link| link.is_down()) {
            self.link = self.shared.choose().cloned();
        }
        self.link.clone()
    }

    fn next_run(&mut self, chunk: &[u8], start: usize, room: u32) -> Run {
        let mut run = Run { replies: 0, end: start, then: Then::More, at: start, is_used_up: false };
        while run.replies < room && run.then == Then::More {
            match self.commands.next(chunk, &mut run.at) {
                Ok(Some(command)) => match command.kind {
                    Kind::Plain => (run.replies, run.end) = (run.replies + 1, command.end),
                    Kind::Nothing => run.end = command.end,
                    Kind::Binding => run.then = Then::Refuse,
                    Kind::Quit => run.then = Then::Quit,
                    Kind::Forbidden => run.then = Then::Cut(Cut::Forbidden),
                },
                Ok(None) => {
                    run.is_used_up = true;
                    break;
                }
                Err(malformed) => run.then = Then::Cut(malformed.into()),
            }
        }
        run
    }

    /// Keeps what is behind a run.
    fn keep_rest(&mut self, chunk: Chunk<LoanOf<B>>, run: &Run) {
        self.then = run.then;
        match run.then {
            Then::More if run.is_used_up => {
                let rest = &chunk[run.end..];
                if !rest.is_empty() {
                    let mut begun = self.begun.take().unwrap_or_else(|| self.buffer());
                    begun.extend_from_slice(rest);
                    self.begun = Some(begun);
                }
            }
            Then::More => self.input = Some((chunk, run.end)),
            Then::Refuse => {
                self.begun = None;
                self.input = Some((chunk, run.at));
            }
            Then::Quit | Then::Cut(_) | Then::End(_) => self.begun = None,
        }
    }
}

impl<B: Backend> Drop for Client<'_, B> {
    fn drop(&mut self) {
        self.mailbox.leave();
        if let Some(link) = &self.link {
            link.forget(&self.mailbox);
        }
    }
}
