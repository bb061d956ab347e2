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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two workers with something in every counter; the second has sent to the first, and is done.
    fn consistent() -> [Counts; 2] {
        let busy = Counts {
            accepted: 119,
            refused_full: 1,
            refused_per_client: 2,
            refused_max_connections: 3,
            refused_no_descriptor: 4,
            refused_panicked: 5,
            refused_draining: 13,
            drained: 7,
            refused_no_worker: 8,
            expired: 9,
            gone: 10,
            local: 11,
            over_limit: 12,
            handed_to: vec![0, 13],
            granted_to: vec![14, 15],
            granted_over: 3,
            reassigned: 17,
            enqueued: 62,
            received: 30,
            returned: 17,
            attach_failed: 5,
            started: 48,
            completed: 20,
            failed: 10,
            timed_out: 7,
            panicked: 4,
            aborted: 1,
            requests: 90,
            requests_immediate: 21,
            requests_enqueued: 22,
            requests_over: 23,
            requests_refused: 24,
            requests_granted: 5,
            requests_granted_over: 4,
            requests_expired: 3,
            requests_gone: 2,
            requests_ended: 40,
            ..Counts::default()
        };
        let done = Counts {
            accepted: 57,
            handed_to: vec![18, 0],
            granted_to: vec![19, 20],
            enqueued: 39,
            received: 48,
            started: 48,
            completed: 48,
            ..Counts::default()
        };
        [busy, done]
    }

    fn books([busy, done]: &[Counts; 2]) -> [Books<'_>; 2] {
        let done =
            Books { counts: done, waiting: 0, active: 0, taken: 0, requests_taken: 0, requests_waiting: 0 };
        let busy = Books {
            counts: busy,
            waiting: 16,
            active: 6,
            taken: 10,
            requests_taken: 13,
            requests_waiting: 8,
        };
        [busy, done]
    }

    #[test]
    fn the_laws_hold_of_consistent_books() {
        assert_eq!(check(&books(&consistent())), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn no_counter_may_be_off_by_one() {
        let moves: [fn(&mut Counts) -> &mut u64; 36] = [
            |counts| &mut counts.accepted,
            |counts| &mut counts.refused_full,
            |counts| &mut counts.refused_per_client,
            |counts| &mut counts.refused_max_connections,
            |counts| &mut counts.refused_no_descriptor,
            |counts| &mut counts.refused_panicked,
            |counts| &mut counts.refused_draining,
            |counts| &mut counts.drained,
            |counts| &mut counts.refused_no_worker,
            |counts| &mut counts.expired,
            |counts| &mut counts.gone,
            |counts| &mut counts.local,
            |counts| &mut counts.over_limit,
            |counts| &mut counts.handed_to[0],
            |counts| &mut counts.granted_to[0],
            |counts| &mut counts.granted_to[1],
            |counts| &mut counts.reassigned,
            |counts| &mut counts.enqueued,
            |counts| &mut counts.received,
            |counts| &mut counts.returned,
            |counts| &mut counts.attach_failed,
            |counts| &mut counts.started,
            |counts| &mut counts.completed,
            |counts| &mut counts.failed,
            |counts| &mut counts.timed_out,
            |counts| &mut counts.panicked,
            |counts| &mut counts.aborted,
            |counts| &mut counts.requests,
            |counts| &mut counts.requests_immediate,
            |counts| &mut counts.requests_enqueued,
            |counts| &mut counts.requests_over,
            |counts| &mut counts.requests_refused,
            |counts| &mut counts.requests_expired,
            |counts| &mut counts.requests_gone,
            |counts| &mut counts.requests_ended,
            |counts| &mut counts.handed_to[1],
        ];
        for (index, which) in moves.into_iter().enumerate() {
            let mut counts = consistent();
            *which(&mut counts[0]) += 1;
            assert!(check(&books(&counts)).is_err(), "number {index} of the list is in no law");
        }
    }

    #[test]
    fn no_gauge_may_be_off_by_one_and_the_error_names_law_and_worker() {
        type Move = fn(&mut Books<'_>);
        let moves: [(&str, Move); 5] = [
            ("L2 (waiting) of worker 0: Some(80) is not 79", |books| books.waiting += 1),
            ("L4 (started) of worker 0", |books| books.active += 1),
            ("L5 and L6 (permits) of worker 0: Some(10) is not 11", |books| books.taken += 1),
            ("L7 and L6 (waiting and begun requests) of worker 0", |books| books.requests_taken += 1),
            ("L7 and L6 (waiting and begun requests) of worker 0", |books| books.requests_waiting += 1),
        ];
        for (expected, change) in moves {
            let counts = consistent();
            let mut books = books(&counts);
            change(&mut books[0]);
            let broken = check(&books).expect_err("broken").to_string();
            assert!(broken.starts_with(expected), "{broken}");
        }
    }

    #[test]
    fn nothing_is_received_that_was_not_sent() {
        let mut counts = consistent();
        counts[1].received = 49;
        counts[1].started = 49;
        counts[1].completed = 49;
        let broken = check(&books(&counts)).expect_err("broken").to_string();
        assert!(broken.starts_with("L5 and L6 (permits) of worker 1: None"), "{broken}");
    }
}
