//! The laws of the counters: nothing is lost, nothing is counted twice. `docs/src/protocol.md` explains them.

use std::fmt;

use crate::ledger::Counts;

/// A law of the counters that does not hold: a bug of this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LawBroken(String);

impl fmt::Display for LawBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LawBroken {}

/// One worker's part in the laws: its counters, and its gauges as counted by their owners.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Books<'a> {
    pub(crate) counts: &'a Counts,
    /// Connections that it accepted and that wait.
    pub(crate) waiting: u64,
    /// Open connections.
    pub(crate) active: u64,
    /// Permits taken of its gate.
    pub(crate) taken: u64,
    /// Permits of requests that are taken.
    pub(crate) requests_taken: u64,
    /// Requests that wait.
    pub(crate) requests_waiting: u64,
}

/// One worker's side of an equation.
struct Equation {
    law: &'static str,
    /// `None` when something was counted at its end and not at its begin.
    left: Option<u64>,
    right: u64,
}

/// Checks the laws over all workers while nothing moves.
pub(crate) fn check(books: &[Books<'_>]) -> Result<(), LawBroken> {
    for (worker, own) in books.iter().enumerate() {
        for Equation { law, left, right } in equations(worker, own, books) {
            if left != Some(right) {
                return Err(LawBroken(format!("{law} of worker {worker}: {left:?} is not {right}; {own:?}")));
            }
        }
    }
    Ok(())
}

fn equations(worker: usize, own: &Books<'_>, books: &[Books<'_>]) -> [Equation; 7] {
    let counts = own.counts;
    let sent = |other: &Books<'_>| other.counts.handed_to[worker] + other.counts.granted_to[worker];
    let sent_here: u64 = books.iter().map(sent).sum();
    let in_transit = sent_here.checked_sub(counts.received + counts.returned);
    let over_after_wait = counts.expired + counts.drained + counts.gone;
    let refused_at_once = counts.refused() - counts.expired - counts.drained - counts.refused_no_worker;
    let routed = counts.local + counts.over_limit + counts.handed_off() + counts.enqueued;
    let asked =
        counts.requests_immediate + counts.requests_enqueued + counts.requests_over + counts.requests_refused;
    let waited = counts.requests_granted
        + counts.requests_granted_over
        + counts.requests_expired
        + counts.requests_gone;
    let begun = counts.requests_immediate
        + counts.requests_over
        + counts.requests_granted
        + counts.requests_granted_over;
    [
        // Per accepting worker: whoever was accepted was refused at once, routed, or lined up.
        Equation { law: "L1 (accepted)", left: Some(refused_at_once + routed), right: counts.accepted },
        // Whoever lined up waits, was granted a permit, or was turned away. Only here is anybody turned away
        // because no worker is left.
        Equation {
            law: "L2 (waiting)",
            left: Some(own.waiting + counts.granted() + over_after_wait + counts.refused_no_worker),
            right: counts.enqueued + counts.reassigned,
        },
        // Per serving worker: whoever has arrived was started or could not be attached.
        Equation {
            law: "L3 (routes)",
            left: Some(counts.attach_failed + counts.started),
            right: counts.local + counts.over_limit + counts.received,
        },
        Equation { law: "L4 (started)", left: Some(own.active + counts.ended()), right: counts.started },
        // What was sent to a worker has been received, was taken back, or is in transit (L5), and whatever is
        // in transit or active holds a permit.
        Equation {
            law: "L5 and L6 (permits)",
            left: in_transit.map(|moving| moving + own.active),
            right: own.taken,
        },
        Equation { law: "L7 (requests)", left: Some(asked), right: counts.requests },
        Equation {
            law: "L7 and L6 (waiting and begun requests)",
            left: Some(waited + own.requests_waiting + counts.requests_ended + own.requests_taken),
            right: counts.requests_enqueued + begun,
        },
    ]
}
