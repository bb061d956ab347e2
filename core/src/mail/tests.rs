//! Where connections go between two workers with room for one each, without any runtime: into which mailbox, or out.
//! Whatever happens, the laws of the counters hold afterwards.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::address::Address;
use crate::config::Config;
use crate::handle::Handle;
use crate::handoff::{NoHandoff, SharedQueue};
use crate::ledger::{Counts, End};
use crate::overflow::{Queue, ServeAnyway, Then};

/// A socket with a name, which tells how it was closed.
#[derive(Debug)]
struct Wire {
    name: &'static str,
    has_left: bool,
    closed: mpsc::Sender<(&'static str, Closed)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    Dropped,
    Reset,
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.closed.send((self.name, Closed::Dropped));
    }
}

impl Socket for Wire {
    fn connect(_to: &Address) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn peer_addr(&self) -> io::Result<Address> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn local_addr(&self) -> io::Result<Address> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn has_left(&self) -> bool {
        self.has_left
    }

    fn reset(self) {
        let _ = self.closed.send((self.name, Closed::Reset));
    }
}

/// What a worker has found in its mailbox.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Handed(&'static str),
    Granted(&'static str),
    ToRefuse(&'static str, Refusal),
    Resume,
    Call,
}

use Found::{Call, Granted, Handed, Resume, ToRefuse};

/// Two workers, with room for one connection each unless it is said otherwise.
struct Office {
    board: Arc<Board>,
    office: Arc<PostOffice<Wire>>,
    handle: Handle,
    mailboxes: Vec<Receiver<Parcel<Wire>>>,
    begun: Instant,
    closing: mpsc::Sender<(&'static str, Closed)>,
    closed: mpsc::Receiver<(&'static str, Closed)>,
}

impl Office {
    fn new(config: &Config) -> Self {
        let config = config.clone().listen("127.0.0.1:0").workers(2).max_connections(100).limit(1);
        let board = Arc::new(Board::new(config.settle().expect("valid").0));
        let (senders, mailboxes) = mailboxes(2);
        let office = Arc::new(PostOffice::new(&board, senders));
        let (events, _) = mpsc::channel();
        let lines: Arc<dyn Lines> = office.clone();
        let handle = Handle::new("none", Vec::new(), Arc::clone(&board), Vec::new(), events, lines);
        let (closing, closed) = mpsc::channel();
        Self { board, office, handle, mailboxes, begun: Instant::now(), closing, closed }
    }

    /// One that every worker serves already.
    fn full(config: &Config) -> Self {
        let office = Self::new(config);
        for worker in 0..2 {
            assert!(office.board.gates.gate(worker).try_take());
            office.board.ledger(worker).accepted_here();
            office.starts(worker);
        }
        office
    }

    fn starts(&self, worker: usize) {
        self.board.ledger(worker).started();
        self.board.set_active(worker, self.active(worker) + 1);
    }

    fn ends(&self, worker: usize) {
        self.board.ledger(worker).ended(End::Completed);
        self.board.set_active(worker, self.active(worker) - 1);
        self.office.release(worker);
    }

    fn active(&self, worker: usize) -> usize {
        usize::try_from(self.board.active(worker)).expect("few")
    }

    fn wire(&self, name: &'static str) -> Envelope<Wire> {
        let socket = Wire { name, has_left: name == "gone", closed: self.closing.clone() };
        Envelope { socket, peer: ([10, 0, 0, 1], 1).into(), client: None }
    }

    /// Parks a connection for a second.
    fn park(&self, home: usize, name: &'static str) -> Result<(), Refusal> {
        let deadline = Some(self.begun + Duration::from_secs(1));
        let parked = self.office.park(Place::Queued, home, self.begun, deadline, self.wire(name));
        parked.map_err(|(envelope, refusal)| {
            self.board.ledger(home).accepted_and_refused(refusal);
            drop(envelope);
            refusal
        })
    }

    fn pause(&self, home: usize, name: &'static str) {
        let parked = self.office.park(Place::Pausing, home, self.begun, None, self.wire(name));
        assert!(parked.is_ok(), "there is always room");
    }

    /// Reserves a permit of the other worker, which is then sent a connection.
    fn hand_off(&self, from: usize, to: usize, name: &'static str) {
        assert!(self.board.gates.gate(to).try_take());
        self.board.ledger(from).accepted_and_handed_to(to);
        self.office.hand_off(self.wire(name), from, to, || self.begun);
    }

    /// Empties a worker's mailbox.
    fn opens(&self, worker: usize) -> Vec<Found> {
        std::iter::from_fn(|| self.mailboxes[worker].try_recv().ok())
            .map(|parcel| match parcel {
                Parcel::HandedOff { envelope, .. } => self.arrives(worker, Handed(envelope.socket.name)),
                Parcel::Granted { waiter } => self.arrives(worker, Granted(waiter.item.socket.name)),
                Parcel::Refuse { envelope, refusal } => ToRefuse(envelope.socket.name, refusal),
                Parcel::Resume => Resume,
                Parcel::Call => Call,
            })
            .collect()
    }

    fn arrives(&self, worker: usize, found: Found) -> Found {
        self.board.ledger(worker).received();
        self.starts(worker);
        found
    }

    fn dies(&self, worker: usize) {
        self.mailboxes[worker].close();
        let undelivered = std::iter::from_fn(|| self.mailboxes[worker].try_recv().ok());
        self.office.bury(worker, undelivered, self.begun);
        self.board.write_off(worker);
    }

    fn expire(&self) {
        self.office.expire(self.begun + Duration::from_secs(1));
    }

    fn closed(&self) -> Vec<(&'static str, Closed)> {
        self.closed.try_iter().collect()
    }

    fn total(&self, counter: impl Fn(&Counts) -> u64) -> u64 {
        self.handle.stats().total(counter)
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.handle.check_laws(), Ok(()));
            let gauges = (0..2).map(|worker| self.board.waiting(worker)).collect::<Vec<_>>();
            assert_eq!(gauges, self.office.waiting(), "the gauge is not what waits");
        }
    }
}

fn queue(limit: u32) -> Queue {
    Queue::new(limit, Duration::from_secs(1))
}

fn rejecting(reject: Reject) -> Config {
    Config::new().overflow(queue(9).then(Then::Reject(reject)))
}

#[test]
fn a_permit_of_any_worker_goes_to_whoever_has_waited_longest() {
    let office = Office::full(&rejecting(Reject::Close));
    assert_eq!([office.park(0, "first"), office.park(0, "second"), office.park(1, "third")], [Ok(()); 3]);
    assert_eq!(office.office.waiting(), [2, 1]);
    office.ends(1);
    assert_eq!((office.opens(0), office.opens(1)), (vec![], vec![Granted("first")]));
    office.ends(0);
    assert_eq!((office.opens(0), office.opens(1)), (vec![Granted("second")], vec![]));
    assert_eq!(office.office.waiting(), [0, 1]);
}

#[test]
fn without_a_handoff_who_waits_is_served_at_home_and_has_a_part_of_the_room() {
    let office = Office::full(&Config::new().overflow(queue(3)).handoff(NoHandoff));
    assert_eq!([office.park(0, "first"), office.park(0, "second")], [Ok(()); 2]);
    assert_eq!(office.park(0, "third"), Err(Refusal::Full));
    assert_eq!(office.park(1, "fourth"), Ok(()));
    assert_eq!(office.office.waiting(), [2, 1]);
    office.ends(1);
    assert_eq!((office.opens(0), office.opens(1)), (vec![], vec![Granted("fourth")]));
    office.office.set_limit(0, 2);
    assert_eq!((office.opens(0), office.opens(1)), (vec![Granted("first")], vec![]));
}

#[test]
fn where_workers_claim_they_are_called_once_and_find_who_waits() {
    let office = Office::full(&Config::new().overflow(queue(9)).handoff(SharedQueue));
    assert_eq!([office.park(0, "first"), office.park(0, "second")], [Ok(()); 2]);
    assert!(office.office.claim(1).is_none(), "it has no room");
    office.ends(1);
    assert_eq!(office.park(0, "third"), Ok(()), "and calls again");
    assert_eq!((office.opens(0), office.opens(1)), (vec![], vec![Call]));
    let claimed = office.office.claim(1).expect("somebody");
    assert_eq!(office.arrives(1, Granted(claimed.item.socket.name)), Granted("first"));
    assert!(office.office.claim(1).is_none(), "it has no room any more");
}

#[test]
fn a_home_that_paused_resumes_when_whoever_waits_is_served_or_turned_away() {
    let office = Office::full(&rejecting(Reject::Reply));
    office.pause(0, "first");
    office.pause(1, "gone");
    office.ends(1);
    assert_eq!((office.opens(0), office.opens(1)), (vec![Resume], vec![Granted("first")]));
    office.office.remove_gone();
    assert_eq!((office.opens(0), office.opens(1)), (vec![], vec![Resume]));
    assert_eq!(office.park(0, "queued"), Ok(()));
    office.ends(1);
    assert_eq!(office.opens(0), [], "it did not pause");
}

#[test]
fn at_the_deadline_the_policy_says_how_it_ends() {
    for (reject, found, closed) in [
        (Reject::Close, vec![], Closed::Dropped),
        (Reject::Reset, vec![], Closed::Reset),
        (Reject::Reply, vec![ToRefuse("late", Refusal::Expired)], Closed::Dropped),
    ] {
        let office = Office::full(&rejecting(reject));
        assert_eq!(office.park(1, "late"), Ok(()));
        assert_eq!(office.office.next_deadline(), Some(office.begun + Duration::from_secs(1)));
        office.expire();
        assert_eq!((office.opens(0), office.opens(1)), (vec![], found), "{reject:?}");
        assert_eq!(office.closed()[0], ("late", closed), "{reject:?}");
        assert_eq!(office.office.next_deadline(), None);
    }
}

#[test]
fn at_the_deadline_it_may_be_served_at_home_over_the_limit() {
    let office = Office::full(&Config::new().overflow(queue(9).then(Then::ServeAnyway)));
    assert_eq!(office.park(1, "late"), Ok(()));
    office.expire();
    assert_eq!(office.mailboxes[1].len(), 1);
    assert_eq!(office.total(|counts| counts.granted_over), 1);
}

#[test]
fn who_has_left_is_let_go_without_a_word() {
    let office = Office::full(&rejecting(Reject::Reply));
    assert_eq!([office.park(0, "gone"), office.park(0, "there")], [Ok(()); 2]);
    office.office.remove_gone();
    assert_eq!((office.opens(0), office.closed()), (vec![], vec![("gone", Closed::Dropped)]));
    assert_eq!(office.office.waiting(), [1, 0]);
}

#[test]
fn at_the_end_everybody_is_told_politely_whatever_the_policy() {
    for reject in [Reject::Close, Reject::Reset, Reject::Reply] {
        let office = Office::full(&rejecting(reject));
        assert_eq!(office.park(0, "early"), Ok(()));
        office.pause(1, "paused");
        office.office.close();
        assert_eq!(office.opens(0), [ToRefuse("early", Refusal::Draining)], "{reject:?}");
        assert_eq!(office.opens(1), [Resume, ToRefuse("paused", Refusal::Draining)], "{reject:?}");
        assert_eq!(office.park(0, "late"), Err(Refusal::Draining));
    }
}

#[test]
fn whoever_was_on_the_way_to_a_worker_that_has_died_is_served_by_another() {
    let office = Office::full(&rejecting(Reject::Close));
    office.ends(1);
    office.hand_off(0, 1, "handed");
    assert_eq!(office.park(0, "waits"), Ok(()));
    office.dies(1);
    assert_eq!(office.office.waiting(), [2, 0]);
    assert_eq!(office.total(|counts| counts.reassigned), 1);
    office.ends(0);
    assert_eq!(office.opens(0), [Granted("waits")]);
    office.ends(0);
    assert_eq!(office.opens(0), [Granted("handed")]);
}

#[test]
fn who_was_granted_a_permit_of_a_worker_that_has_died_keeps_the_place() {
    let office = Office::full(&rejecting(Reject::Close));
    assert_eq!([office.park(0, "first"), office.park(0, "second")], [Ok(()); 2]);
    office.ends(1);
    office.dies(1);
    office.ends(0);
    assert_eq!(office.opens(0), [Granted("first")]);
}

#[test]
fn a_permit_that_was_reserved_of_a_worker_that_has_died_is_not_lost() {
    let office = Office::new(&rejecting(Reject::Close));
    office.mailboxes[1].close();
    office.hand_off(0, 1, "handed");
    assert_eq!(office.opens(0), [Granted("handed")]);
    office.dies(1);
}

#[test]
fn when_no_worker_is_left_nobody_waits() {
    for (reject, closed) in [(Reject::Close, Closed::Dropped), (Reject::Reset, Closed::Reset)] {
        let office = Office::full(&rejecting(reject));
        assert_eq!(office.park(0, "first"), Ok(()));
        office.dies(1);
        assert_eq!(office.closed(), []);
        office.dies(0);
        assert_eq!(office.closed()[0], ("first", closed));
        assert_eq!(office.total(|counts| counts.refused_no_worker), 1);
    }
}

#[test]
fn a_queue_without_room_turns_away() {
    let office = Office::full(&Config::new().overflow(queue(1)));
    assert_eq!([office.park(0, "first"), office.park(1, "second")], [Ok(()), Err(Refusal::Full)]);
    let office = Office::full(&Config::new().overflow(ServeAnyway));
    assert_eq!(office.park(0, "first"), Err(Refusal::Full));
}
