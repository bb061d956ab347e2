//! The ways between workers: who is sent to which mailbox, and what the exchange of permits does with it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use async_channel::{Receiver, Sender};

use crate::admission::{Exchange, Fate, Gates, NotParked, Place, Ports, Waiter};
use crate::backend::Socket;
use crate::clients::Counted;
use crate::handoff::Waiting;
use crate::ledger::Refusal;
use crate::overflow::Reject;
use crate::shared::Board;

/// An accepted connection that is not served yet.
#[derive(Debug)]
pub(crate) struct Envelope<S> {
    pub(crate) socket: S,
    pub(crate) peer: SocketAddr,
    /// Its part of what its address may have.
    pub(crate) client: Option<Counted>,
}

/// What a worker finds in its mailbox.
#[derive(Debug)]
pub(crate) enum Parcel<S> {
    /// A connection to serve; a permit of this worker has been taken for it.
    HandedOff { envelope: Envelope<S>, from: usize },
    /// As before, and it has waited.
    Granted { waiter: Waiter<Envelope<S>> },
    /// A connection of this worker's that shall be refused by it.
    Refuse { envelope: Envelope<S>, refusal: Refusal },
    /// It may accept again.
    Resume,
    /// Somebody may be there to claim.
    Call,
}

/// Where each worker receives. Unbounded, yet never longer than the limits: every connection carries a permit of
/// the receiver, or was in the queue.
pub(crate) type Mailboxes<S> = Box<[Sender<Parcel<S>>]>;

/// A mailbox for each worker, and each worker's end of it.
pub(crate) fn mailboxes<S>(workers: usize) -> (Mailboxes<S>, Vec<Receiver<Parcel<S>>>) {
    let (senders, receivers): (Vec<_>, _) = (0..workers).map(|_| async_channel::unbounded()).unzip();
    (senders.into(), receivers)
}

/// Permits and lines of one server: one line for all workers, or one for each.
#[derive(Debug)]
pub(crate) struct PostOffice<S> {
    lines: Box<[Exchange<Envelope<S>, Ways<S>>]>,
    mailboxes: Arc<Mailboxes<S>>,
}

impl<S: Socket> PostOffice<S> {
    pub(crate) fn new(board: &Arc<Board>, mailboxes: Mailboxes<S>) -> Self {
        let workers = board.settings.workers();
        let mailboxes = Arc::new(mailboxes);
        let waiting = board.settings.handoff.waiting();
        let queue_max = board.settings.queue_max as usize;
        let line = |queue_max, workers| {
            let ways = Ways { board: Arc::clone(board), mailboxes: Arc::clone(&mailboxes) };
            Exchange::new(queue_max, workers, waiting == Waiting::Claimed, ways)
        };
        let lines = match waiting {
            Waiting::Granted | Waiting::Claimed => [line(queue_max, 0..workers)].into(),
            Waiting::AtHome => {
                (0..workers).map(|worker| line(queue_max.div_ceil(workers), worker..worker + 1)).collect()
            }
        };
        Self { lines, mailboxes }
    }

    fn line_of(&self, worker: usize) -> &Exchange<Envelope<S>, Ways<S>> {
        if let [line] = &*self.lines { line } else { &self.lines[worker] }
    }

    /// Gives a permit of `worker` back, from any thread.
    pub(crate) fn release(&self, worker: usize) {
        self.line_of(worker).release(worker);
    }

    /// Lines up a connection that `home` has accepted; gives back what cannot wait.
    pub(crate) fn park(
        &self,
        place: Place,
        home: usize,
        since: Instant,
        deadline: Option<Instant>,
        envelope: Envelope<S>,
    ) -> Result<(), (Envelope<S>, Refusal)> {
        let waiter = Waiter::new(place, home, since, deadline, envelope);
        self.line_of(home).park(waiter, home).map_err(|not_parked| match not_parked {
            NotParked::Full(waiter) => (waiter.item, Refusal::Full),
            NotParked::Closed(waiter) => (waiter.item, Refusal::Draining),
        })
    }

    /// Takes a permit of `worker` and somebody who waits, where workers claim.
    pub(crate) fn claim(&self, worker: usize) -> Option<Waiter<Envelope<S>>> {
        self.line_of(worker).claim(worker)
    }

    /// Sets the limit of a worker.
    pub(crate) fn set_limit(&self, worker: usize, limit: u32) {
        self.line_of(worker).set_limit(worker, limit);
    }

    /// Turns everybody away, and whoever comes later.
    pub(crate) fn close(&self) {
        self.lines.iter().for_each(Exchange::close);
    }

    /// Sends a connection, with a permit of `to`, to it. If that has died, the connection waits for another, from
    /// `now` on.
    pub(crate) fn hand_off(
        &self,
        envelope: Envelope<S>,
        from: usize,
        to: usize,
        now: impl FnOnce() -> Instant,
    ) {
        let sent = self.mailboxes[to].try_send(Parcel::HandedOff { envelope, from });
        if let Err(unsent) = sent {
            self.bury(to, [unsent.into_inner()], now());
        }
    }

    /// A worker has died, and its mailbox is closed: whoever was on the way to it is served by others.
    pub(crate) fn bury(&self, worker: usize, undelivered: impl IntoIterator<Item = Parcel<S>>, now: Instant) {
        let waiters = undelivered.into_iter().filter_map(|parcel| match parcel {
            Parcel::Granted { waiter } => Some(waiter),
            Parcel::HandedOff { envelope, from } => {
                Some(Waiter::new(Place::Queued, from, now, None, envelope))
            }
            Parcel::Refuse { .. } | Parcel::Resume | Parcel::Call => None,
        });
        self.line_of(worker).bury(worker, waiters);
    }
}

/// The lines, for those who look after them from outside, and do not know what waits in them.
pub(crate) trait Lines: Send + Sync {
    /// Ends the wait of all whose deadline has passed.
    fn expire(&self, now: Instant);
    /// When the next deadline passes, at the earliest.
    fn next_deadline(&self) -> Option<Instant>;
    /// Takes out the clients that have left.
    fn remove_gone(&self);
    /// How many wait, of each worker.
    fn waiting(&self) -> Vec<u64>;
}

impl<S: Socket> Lines for PostOffice<S> {
    fn expire(&self, now: Instant) {
        self.lines.iter().for_each(|line| line.expire(now));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.lines.iter().filter_map(Exchange::next_deadline).min()
    }

    fn remove_gone(&self) {
        self.lines.iter().for_each(|line| line.remove_gone(|envelope| envelope.socket.has_left()));
    }

    fn waiting(&self) -> Vec<u64> {
        let mut counts = vec![0; self.mailboxes.len()];
        self.lines.iter().for_each(|line| line.each_home(|home| counts[home] += 1));
        counts
    }
}

/// The ways out of the line.
#[derive(Debug)]
struct Ways<S> {
    board: Arc<Board>,
    mailboxes: Arc<Mailboxes<S>>,
}

impl<S> Ways<S> {
    /// A worker whose connection waited without a place in the queue accepts again.
    fn resume(&self, place: Place, home: usize) {
        if place == Place::Pausing {
            // A worker that is gone accepts nothing.
            let _ = self.mailboxes[home].try_send(Parcel::Resume);
        }
    }
}

impl<S: Socket> Ports<Envelope<S>> for Ways<S> {
    fn gates(&self) -> &Gates {
        &self.board.gates
    }

    fn serves_expired(&self) -> bool {
        self.board.settings.overflow.serves_expired()
    }

    fn lined_up(&self, waiter: &Waiter<Envelope<S>>) {
        self.board.ledger(waiter.home).accepted_and_enqueued();
        self.board.add_waiting(waiter.home);
    }

    fn granted(&self, waiter: &Waiter<Envelope<S>>, worker: usize, over: bool) {
        self.board.ledger(waiter.home).granted(worker, over);
        self.board.remove_waiting(waiter.home);
    }

    fn turned_away(&self, waiter: &Waiter<Envelope<S>>, fate: Fate) {
        self.board.ledger(waiter.home).turned_away(fate);
        self.board.remove_waiting(waiter.home);
    }

    fn came_back(&self, waiter: &Waiter<Envelope<S>>, worker: usize) {
        self.board.ledger(waiter.home).reassigned();
        self.board.ledger(worker).returned();
        self.board.add_waiting(waiter.home);
    }

    fn deliver(&self, waiter: Waiter<Envelope<S>>, worker: usize) -> Result<(), Waiter<Envelope<S>>> {
        let (place, home) = (waiter.place, waiter.home);
        match self.mailboxes[worker].try_send(Parcel::Granted { waiter }) {
            Ok(()) => {
                self.resume(place, home);
                Ok(())
            }
            Err(unsent) => match unsent.into_inner() {
                Parcel::Granted { waiter } => Err(waiter),
                _other => unreachable!("what was sent comes back"),
            },
        }
    }

    fn call(&self, worker: usize) {
        // One call that has not been read is enough, and a worker that is gone claims nothing.
        if self.mailboxes[worker].is_empty() {
            let _ = self.mailboxes[worker].try_send(Parcel::Call);
        }
    }

    fn dismiss(&self, waiter: Waiter<Envelope<S>>, fate: Fate) {
        self.resume(waiter.place, waiter.home);
        let envelope = waiter.item;
        let refusal = match fate {
            Fate::Gone => return,
            Fate::Expired => Refusal::Expired,
            Fate::Draining => Refusal::Draining,
            Fate::NoWorker => Refusal::NoWorker,
        };
        match self.board.settings.overflow.rejection() {
            Reject::Reset if fate != Fate::Draining => envelope.socket.reset(),
            Reject::Close if fate != Fate::Draining => drop(envelope),
            // Politely, by a worker. One that is gone refuses nobody.
            Reject::Close | Reject::Reset | Reject::Reply => {
                let _ = self.mailboxes[waiter.home].try_send(Parcel::Refuse { envelope, refusal });
            }
        }
    }
}

#[cfg(test)]
mod tests;
