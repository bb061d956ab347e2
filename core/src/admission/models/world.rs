//! The surroundings of an exchange in a model: gates, mailboxes that can close, and a note of what has become of
//! everybody.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::orders::UnsafeCell;
use crate::admission::{Exchange, Fate, Gates, NotParked, Place, Ports, Waiter};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering, lock};

/// What a model begins with.
pub(super) struct Setup {
    pub(super) workers: usize,
    pub(super) limit: u32,
    pub(super) queue_max: usize,
    pub(super) claimed: bool,
    pub(super) serves_expired: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { workers: 1, limit: 1, queue_max: 8, claimed: false, serves_expired: false }
    }
}

/// An exchange, and what has become of everybody. Threads of a model run in turn, so they may share an `Rc`.
#[derive(Clone)]
pub(super) struct World(Rc<Exchange<u32, Model>>);

/// What stands in for the server.
struct Model {
    gates: Gates,
    /// What a permit protects, of each worker: whoever has one touches it. Loom objects when the last touch does
    /// not happen before the next. Only where there is one permit, and nobody takes one by force.
    protected: Option<Vec<UnsafeCell<()>>>,
    mailboxes: Vec<Mutex<Mailbox>>,
    serves_expired: bool,
    claimed: bool,
    notes: RefCell<Notes>,
    epoch: Instant,
    /// Whoever may take, release or leave begins with a change of this. Loom remembers but the last access to an
    /// atomic, and misses that a mere look races with a change if whoever changes has looked as well.
    begun: AtomicUsize,
}

/// Who is on the way to a worker; `None` when it has died.
type Mailbox = Option<Vec<Waiter<u32>>>;

#[derive(Default)]
struct Notes {
    /// How many wait, by the books.
    waiting: usize,
    /// Who was served, in the order in which permits were found for them, and where.
    served: Vec<(u32, usize)>,
    fates: Vec<(u32, Fate)>,
    dismissed: Vec<(u32, Fate)>,
    /// Refused before it had waited.
    refused: Vec<u32>,
    calls: Vec<usize>,
}

impl Setup {
    /// The permits are all alike: nothing is said about what they protect.
    pub(super) fn build(self) -> World {
        self.world(None)
    }

    /// One permit for each worker, that protects something.
    pub(super) fn protected(self) -> World {
        assert_eq!(self.limit, 1);
        let protected = (0..self.workers).map(|_| UnsafeCell::new(())).collect();
        self.world(Some(protected))
    }

    fn world(self, protected: Option<Vec<UnsafeCell<()>>>) -> World {
        let model = Model {
            gates: Gates::new(self.workers, self.limit),
            protected,
            mailboxes: (0..self.workers).map(|_| Mutex::new(Some(Vec::new()))).collect(),
            serves_expired: self.serves_expired,
            claimed: self.claimed,
            notes: RefCell::default(),
            epoch: Instant::now(),
            begun: AtomicUsize::new(0),
        };
        World(Rc::new(Exchange::new(self.queue_max, 0..self.workers, self.claimed, model)))
    }
}

/// What the threads of a model do.
impl World {
    fn model(&self) -> &Model {
        self.0.ports()
    }

    /// A part begins, in the order that is being tried.
    fn begin(&self) -> &Exchange<u32, Model> {
        self.model().begun.fetch_add(1, Ordering::Relaxed);
        &self.0
    }

    /// A newcomer takes a permit, if there is one.
    pub(super) fn take(&self, worker: usize) -> bool {
        let taken = self.begin().ports().gates.gate(worker).try_take();
        if taken {
            self.model().touch(worker);
        }
        taken
    }

    /// All permits are taken.
    pub(super) fn take_all(&self) {
        for worker in 0..self.model().gates.len() {
            while self.take(worker) {}
        }
    }

    pub(super) fn take_by_force(&self, worker: usize) {
        assert!(self.model().gates.gate(worker).force_take());
    }

    pub(super) fn taken(&self, worker: usize) -> u32 {
        self.model().gates.gate(worker).taken()
    }

    pub(super) fn release(&self, worker: usize) {
        self.model().touch(worker);
        self.begin().release(worker);
    }

    /// Lines somebody up, who never gives up; `false` if that is not possible.
    pub(super) fn park(&self, home: usize, who: u32) -> bool {
        self.park_until(home, who, None)
    }

    /// Lines somebody up, until a second of the model.
    pub(super) fn park_until(&self, home: usize, who: u32, second: Option<u64>) -> bool {
        let deadline = second.map(|second| self.at(second));
        let waiter = Waiter::new(Place::Queued, home, self.model().epoch, deadline, who);
        let parked = self.0.park(waiter, home);
        if let Err(NotParked::Full(waiter) | NotParked::Closed(waiter)) = &parked {
            self.model().notes.borrow_mut().refused.push(waiter.item);
        }
        parked.is_ok()
    }

    fn at(&self, second: u64) -> Instant {
        self.model().epoch + Duration::from_secs(second)
    }

    /// Whether this is the second at which somebody has waited long enough.
    pub(super) fn expects(&self, second: u64) -> bool {
        self.0.next_deadline() == Some(self.at(second))
    }

    pub(super) fn expire(&self, second: u64) {
        self.0.expire(self.at(second));
    }

    pub(super) fn remove_gone(&self, gone: u32) {
        self.0.remove_gone(|&who| who == gone);
    }

    pub(super) fn set_limit(&self, worker: usize, limit: u32) {
        self.0.set_limit(worker, limit);
    }

    pub(super) fn close(&self) {
        self.0.close();
    }

    /// Sends somebody, with a permit of `to`, from the worker that accepted it.
    pub(super) fn hand_off(&self, from: usize, to: usize, who: u32) {
        self.model().notes.borrow_mut().served.push((who, to));
        let waiter = Waiter::new(Place::Queued, from, self.model().epoch, None, who);
        if let Err(unsent) = self.model().send(waiter, to) {
            self.0.bury(to, [unsent]);
        }
    }

    /// A worker dies: its mailbox closes, and gives out who was in it.
    pub(super) fn die(&self, worker: usize) {
        let undelivered = lock(&self.model().mailboxes[worker]).take().unwrap_or_default();
        self.0.bury(worker, undelivered);
    }

    /// A worker leaves, if nothing of it is taken; whoever leaves may destroy what the permits protected.
    pub(super) fn leave(&self, worker: usize) -> bool {
        let left = self.begin().ports().gates.gate(worker).try_close();
        if left {
            self.model().touch(worker);
        }
        left
    }

    /// A worker looks whether it can serve anybody who waits.
    pub(super) fn claim(&self, worker: usize) {
        while let Some(waiter) = self.begin().claim(worker) {
            assert!(self.model().send(waiter, worker).is_ok());
        }
    }
}

/// What a model must come to.
impl World {
    /// Serves whoever is in a mailbox, and lets those workers claim that were called; until nothing is left.
    /// Then nobody waits, nothing is taken, no flag is set, and each who came has had exactly one fate.
    pub(super) fn finish(&self, everybody: impl IntoIterator<Item = u32>) {
        while self.serve_one() || self.answer_one_call() {}
        self.check_nothing_is_left();
        let notes = self.model().notes.borrow();
        for who in everybody {
            let served = notes.served.iter().filter(|(other, _)| *other == who).count();
            let refused = notes.refused.iter().filter(|&&other| other == who).count();
            let fates = notes.fates.iter().filter(|(other, _)| *other == who).count();
            assert_eq!(served + refused + fates, 1, "{who} has not had exactly one fate");
        }
        assert_eq!(notes.fates, notes.dismissed, "turned away, and not let go");
    }

    /// Takes whoever is first in a worker's mailbox.
    pub(super) fn open(&self, worker: usize) -> bool {
        self.mailbox(worker).as_mut().is_some_and(|held| !held.is_empty() && held.remove(0).item < u32::MAX)
    }

    fn serve_one(&self) -> bool {
        let next = (0..self.model().gates.len()).find(|&worker| self.open(worker));
        if let Some(worker) = next {
            self.release(worker);
        }
        next.is_some()
    }

    fn mailbox(&self, worker: usize) -> MutexGuard<'_, Mailbox> {
        lock(&self.model().mailboxes[worker])
    }

    /// Lets every worker claim that was called.
    pub(super) fn finish_claims(&self) {
        while self.answer_one_call() {}
    }

    /// Which workers were called, and have not looked.
    pub(super) fn called(&self) -> Vec<usize> {
        self.model().notes.borrow().calls.clone()
    }

    fn answer_one_call(&self) -> bool {
        let call = self.model().notes.borrow_mut().calls.pop();
        if let Some(worker) = call {
            self.claim(worker);
        }
        call.is_some()
    }

    fn check_nothing_is_left(&self) {
        self.0.each_home(|home| panic!("somebody of worker {home} still waits"));
        assert_eq!(self.model().notes.borrow().waiting, 0);
        let left = Gates::new(1, 1);
        assert!(left.gate(0).try_close());
        for worker in 0..self.model().gates.len() {
            let gate = self.model().gates.gate(worker);
            if gate.is_open() {
                assert!(gate.try_close(), "worker {worker} cannot leave: {gate:?}");
                self.model().touch(worker);
            }
            assert_eq!(gate.seen(), left.gate(0).seen(), "of worker {worker}");
            assert!(!gate.try_take() && !gate.force_take(), "a permit of a worker that has left");
        }
    }

    /// Who was served, in the order in which permits were found.
    pub(super) fn served(&self) -> Vec<u32> {
        self.model().notes.borrow().served.iter().map(|&(who, _)| who).collect()
    }

    /// Who was served by `worker`.
    pub(super) fn served_by(&self, worker: usize) -> Vec<u32> {
        let notes = self.model().notes.borrow();
        notes.served.iter().filter(|(_, by)| *by == worker).map(|&(who, _)| who).collect()
    }

    /// Who was turned away after it had waited.
    pub(super) fn turned_away(&self) -> Vec<(u32, Fate)> {
        self.model().notes.borrow().fates.clone()
    }
}

/// What histories look at.
#[cfg(not(corepool_loom))]
impl World {
    /// How many wait: by the books, and in the line.
    pub(super) fn waiting(&self) -> usize {
        let mut waiting = 0;
        self.0.each_home(|_| waiting += 1);
        assert_eq!(waiting, self.model().notes.borrow().waiting);
        waiting
    }

    /// How many are in a worker's mailbox.
    pub(super) fn on_the_way(&self, worker: usize) -> usize {
        self.mailbox(worker).as_ref().map_or(0, Vec::len)
    }

    /// A worker answers its calls.
    pub(super) fn look(&self, worker: usize) {
        self.model().notes.borrow_mut().calls.retain(|&called| called != worker);
        self.claim(worker);
    }

    pub(super) fn limit(&self, worker: usize) -> u32 {
        self.model().gates.gate(worker).limit()
    }
}

impl Model {
    fn touch(&self, worker: usize) {
        if let Some(protected) = &self.protected {
            protected[worker].with_mut(drop);
        }
    }

    fn send(&self, waiter: Waiter<u32>, worker: usize) -> Result<(), Waiter<u32>> {
        match &mut *lock(&self.mailboxes[worker]) {
            Some(held) => held.push(waiter),
            None => return Err(waiter),
        }
        Ok(())
    }
}

impl Ports<u32> for Model {
    fn gates(&self) -> &Gates {
        &self.gates
    }

    fn serves_expired(&self) -> bool {
        self.serves_expired
    }

    fn lined_up(&self, _waiter: &Waiter<u32>) {
        self.notes.borrow_mut().waiting += 1;
    }

    fn granted(&self, waiter: &Waiter<u32>, worker: usize, _over: bool) {
        self.touch(worker);
        let mut notes = self.notes.borrow_mut();
        notes.waiting -= 1;
        notes.served.push((waiter.item, worker));
    }

    fn turned_away(&self, waiter: &Waiter<u32>, fate: Fate) {
        let mut notes = self.notes.borrow_mut();
        notes.waiting -= 1;
        notes.fates.push((waiter.item, fate));
    }

    fn came_back(&self, waiter: &Waiter<u32>, worker: usize) {
        let mut notes = self.notes.borrow_mut();
        notes.waiting += 1;
        let grant = (waiter.item, worker);
        let granted = notes.served.iter().position(|served| *served == grant).expect("it was granted");
        notes.served.remove(granted);
    }

    fn deliver(&self, waiter: Waiter<u32>, worker: usize) -> Result<(), Waiter<u32>> {
        assert!(!self.claimed || self.serves_expired, "delivered, where whoever waits is claimed");
        self.send(waiter, worker)
    }

    fn call(&self, worker: usize) {
        assert!(self.claimed, "called, where nobody claims");
        self.notes.borrow_mut().calls.push(worker);
    }

    fn dismiss(&self, waiter: Waiter<u32>, fate: Fate) {
        self.notes.borrow_mut().dismissed.push((waiter.item, fate));
    }
}
