//! What becomes of an accepted connection: served here, elsewhere, or over the limit; parked; or refused.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::admission::Place;
use crate::backend::Backend;
use crate::config::Scope;
use crate::connection::Route;
use crate::handler::Handler;
use crate::handoff::{Reserved, Room};
use crate::ledger::{Ledger, Refusal};
use crate::local::{Arrival, Local};
use crate::mail::Envelope;
use crate::overflow::{Situation, Subject, Verdict};
use crate::serve::{refuse, serve};

/// What the worker that has accepted a connection has to know of it afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Admitted {
    /// Nothing: it is settled.
    Settled,
    /// It waits for a permit, in the queue.
    Queued,
    /// It waits for a permit, and nothing more shall be accepted meanwhile.
    Pausing,
}

/// What is to be done with a connection for which there is no permit.
enum Next {
    Refuse(Refusal),
    Serve,
    Wait(Place, Option<Duration>),
}

/// Decides about a connection that this worker has accepted, and counts it.
pub(crate) fn admit<B: Backend, H: Handler<B>>(
    local: &Rc<Local<B>>,
    handler: &Rc<H>,
    (socket, peer): (B::Socket, SocketAddr),
    is_draining: bool,
) -> Admitted {
    let mut envelope = Envelope { socket, peer, client: None };
    let next = match enter(local, &mut envelope).map(|()| decide(local, is_draining)) {
        Err(refusal) => Next::Refuse(refusal),
        Ok(Ok(worker)) => {
            send(local, handler, envelope, worker);
            return Admitted::Settled;
        }
        Ok(Err(next)) => next,
    };
    match next {
        Next::Refuse(refusal) => {
            local.ledger().accepted_and_refused(refusal);
            refuse(handler, envelope, refusal, local);
            Admitted::Settled
        }
        Next::Serve => {
            local.ledger().accepted_over_limit();
            serve(handler, Arrival { envelope, route: Route::OverLimit }, local);
            Admitted::Settled
        }
        Next::Wait(place, limit) => park(local, handler, envelope, place, limit),
    }
}

/// Counts a connection of this client, if clients are counted.
fn enter<B: Backend>(local: &Local<B>, envelope: &mut Envelope<B::Socket>) -> Result<(), Refusal> {
    if let Some(clients) = &local.board.clients {
        envelope.client = Some(clients.enter(envelope.peer).ok_or(Refusal::PerClient)?);
    }
    Ok(())
}

/// Reserves a permit, of the worker that shall serve; or says what to do without.
fn decide<B: Backend>(local: &Local<B>, is_draining: bool) -> Result<usize, Next> {
    let _in_hand = InHand(local.ledger());
    let release = |worker| local.office.release(worker);
    let room = Room::new(&local.board.gates, &release);
    let placed = local.settings().handoff.place(local.index, &room, &mut local.random.borrow_mut());
    placed.map(Reserved::spend).ok_or_else(|| when_full(local, is_draining))
}

fn when_full<B: Backend>(local: &Local<B>, is_draining: bool) -> Next {
    let settings = local.settings();
    let is_full_of_sockets = local.sockets() >= u64::from(settings.max_connections);
    if is_draining {
        // Whoever has connected before is served if a permit comes in time, whatever the policy.
        return if is_full_of_sockets {
            Next::Refuse(Refusal::Draining)
        } else {
            Next::Wait(Place::Pausing, None)
        };
    }
    let gate = local.board.gates.gate(local.index);
    if settings.scope == Scope::Request {
        return Next::Refuse(Refusal::MaxConnections);
    }
    match settings.overflow.when_full(&Situation::new(Subject::Connection, local.index, gate.taken())) {
        Verdict::Reject => Next::Refuse(Refusal::Full),
        // Nobody sees whether a connection is accepted late or never: this one waits, and no other is accepted.
        Verdict::Pause => Next::Wait(Place::Pausing, None),
        _ if is_full_of_sockets => Next::Refuse(Refusal::MaxConnections),
        Verdict::Wait(limit) => Next::Wait(Place::Queued, Some(limit)),
        Verdict::Serve if gate.force_take() => Next::Serve,
        Verdict::Serve => Next::Refuse(Refusal::Draining),
    }
}

/// Serves a connection for which a permit of `worker` has been taken, there.
fn send<B: Backend, H: Handler<B>>(
    local: &Rc<Local<B>>,
    handler: &Rc<H>,
    envelope: Envelope<B::Socket>,
    worker: usize,
) {
    if worker == local.index {
        local.ledger().accepted_here();
        serve(handler, Arrival { envelope, route: Route::Local }, local);
    } else {
        // Counted first: the receiver may count the arrival before it is sent.
        local.ledger().accepted_and_handed_to(worker);
        local.office.hand_off(envelope, local.index, worker, B::now);
    }
}

/// Lines a connection up. It is counted there, or here if it cannot wait.
fn park<B: Backend, H: Handler<B>>(
    local: &Rc<Local<B>>,
    handler: &Rc<H>,
    envelope: Envelope<B::Socket>,
    place: Place,
    limit: Option<Duration>,
) -> Admitted {
    let now = B::now();
    let Err((envelope, refusal)) =
        local.office.park(place, local.index, now, limit.map(|limit| now + limit), envelope)
    else {
        return if place == Place::Pausing { Admitted::Pausing } else { Admitted::Queued };
    };
    let gate = local.board.gates.gate(local.index);
    if refusal == Refusal::Full && local.settings().overflow.serves_expired() && gate.force_take() {
        local.ledger().accepted_over_limit();
        serve(handler, Arrival { envelope, route: Route::OverLimit }, local);
    } else {
        local.ledger().accepted_and_refused(refusal);
        refuse(handler, envelope, refusal, local);
    }
    Admitted::Settled
}

/// A connection that has been accepted and not been counted: it is lost if a policy of the user's panics, and
/// counted all the same.
struct InHand<'a>(&'a Ledger);

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.accepted_and_refused(Refusal::Panicked);
        }
    }
}
