//! Gates and line together: no permit idle while somebody waits, no wake lost, nobody passed.
//!
//! Whenever the lock is free: if somebody waits, every gate that is open is full and has its flag set. So a
//! release that finds no flag has nobody to look for, and is one atomic operation; one that finds it passes its
//! permit on, uncounted and unreleased, to whoever has waited longest.
//!
//! Nothing is delivered or woken while the lock is held: a waker may spin, or call back.

use std::ops::Range;
use std::time::Instant;

use crate::admission::gate::{Gate, Gates};
use crate::admission::line::{Fate, Line, Waiter};
use crate::sync::{Mutex, MutexGuard, lock};

/// What the exchange stands in: the gates, the books, and the ways to the workers.
pub(crate) trait Ports<T> {
    fn gates(&self) -> &Gates;
    /// Whether who has waited until the deadline is served over the limit.
    fn serves_expired(&self) -> bool;
    /// Somebody has lined up. The books are moved under the lock; none of these may call back.
    fn lined_up(&self, waiter: &Waiter<T>);
    /// A permit of `worker` was found for somebody who waited; `over` the limit, if it was forced.
    fn granted(&self, waiter: &Waiter<T>, worker: usize, over: bool);
    /// Waiting is over without a permit.
    fn turned_away(&self, waiter: &Waiter<T>, fate: Fate);
    /// `worker` died before it received somebody, who waits again.
    fn came_back(&self, waiter: &Waiter<T>, worker: usize);
    /// Sends somebody, with a permit of `worker`, to it. Gives back who cannot be sent, because it has died.
    fn deliver(&self, waiter: Waiter<T>, worker: usize) -> Result<(), Waiter<T>>;
    /// Tells a worker that it may find somebody to claim.
    fn call(&self, worker: usize);
    /// Lets somebody go who was turned away.
    fn dismiss(&self, waiter: Waiter<T>, fate: Fate);
}

/// Who was not let in, and why.
#[derive(Debug)]
pub(crate) enum NotParked<T> {
    Full(Waiter<T>),
    Closed(Waiter<T>),
}

/// One line, and the gates of the workers who serve it.
#[derive(Debug)]
pub(crate) struct Exchange<T, P> {
    line: Mutex<Line<T>>,
    workers: Range<usize>,
    /// Whoever waits is claimed, not granted a permit.
    claimed: bool,
    ports: P,
}

/// Permits that were found under the lock, to be delivered after it: to which worker, and to whom.
type Granted<T> = Vec<(usize, Waiter<T>)>;

impl<T, P: Ports<T>> Exchange<T, P> {
    /// An empty line with room for so many, for these workers.
    pub(crate) fn new(queued_max: usize, workers: Range<usize>, claimed: bool, ports: P) -> Self {
        Self { line: Mutex::new(Line::new(queued_max)), workers, claimed, ports }
    }

    /// What it stands in.
    #[cfg(test)]
    pub(crate) fn ports(&self) -> &P {
        &self.ports
    }

    fn gate(&self, worker: usize) -> &Gate {
        self.ports.gates().gate(worker)
    }

    fn line(&self) -> MutexGuard<'_, Line<T>> {
        lock(&self.line)
    }

    /// Gives a permit of `worker` back, from any thread.
    pub(crate) fn release(&self, worker: usize) {
        if !self.gate(worker).try_release() {
            self.pass_on(worker);
        } else if self.claimed && !self.line().is_empty() {
            self.ports.call(worker);
        }
    }

    #[cold]
    fn pass_on(&self, worker: usize) {
        let mut line = self.line();
        let gate = self.gate(worker);
        let next = if gate.may_pass_on() { line.pop() } else { None };
        match &next {
            Some(waiter) => self.ports.granted(waiter, worker, false),
            None => gate.give_back(),
        }
        self.clear_flags(&mut line);
        drop(line);
        self.deliver(next.map(|waiter| (worker, waiter)));
    }

    /// Lines somebody up who found no room; a permit that has been given back meanwhile is found here. `start`
    /// is the worker to ask first.
    pub(crate) fn park(&self, waiter: Waiter<T>, start: usize) -> Result<(), NotParked<T>> {
        let mut line = self.line();
        if line.is_closed() {
            return Err(NotParked::Closed(waiter));
        }
        line.push(waiter).map_err(NotParked::Full)?;
        if let Some(newcomer) = line.last() {
            self.ports.lined_up(newcomer);
        }
        let granted = self.pump_all(&mut line, start);
        drop(line);
        self.deliver(granted);
        self.call_all();
        Ok(())
    }

    /// Takes a permit of `worker` and whoever has waited longest, if there are both: a worker may look in vain.
    pub(crate) fn claim(&self, worker: usize) -> Option<Waiter<T>> {
        if !self.claimed || !self.gate(worker).try_take() {
            return None;
        }
        let mut line = self.line();
        let waiter = line.pop();
        match &waiter {
            Some(waiter) => self.ports.granted(waiter, worker, false),
            None => self.gate(worker).give_back(),
        }
        waiter
    }

    fn call_all(&self) {
        if self.claimed {
            let has_room = |worker: &usize| self.gate(*worker).has_room(self.gate(*worker).seen());
            self.workers.clone().filter(has_room).for_each(|worker| self.ports.call(worker));
        }
    }

    /// Sets the limit of a worker. Who waits gets the permits that this makes.
    pub(crate) fn set_limit(&self, worker: usize, limit: u32) {
        let mut line = self.line();
        self.gate(worker).set_limit(limit);
        let mut granted = Vec::new();
        self.pump(&mut line, worker, &mut granted);
        self.clear_flags(&mut line);
        drop(line);
        self.deliver(granted);
        self.call_all();
    }

    /// Ends the wait of everybody whose deadline has passed: over the limit, or not at all.
    pub(crate) fn expire(&self, now: Instant) {
        let mut line = self.line();
        let (mut granted, mut left) = (Vec::new(), Vec::new());
        for waiter in line.take_expired(now) {
            let home = waiter.home;
            if self.ports.serves_expired() && self.gate(home).force_take() {
                self.ports.granted(&waiter, home, true);
                granted.push((home, waiter));
            } else {
                self.ports.turned_away(&waiter, Fate::Expired);
                left.push(waiter);
            }
        }
        self.clear_flags(&mut line);
        drop(line);
        self.deliver(granted);
        self.dismiss(left, Fate::Expired);
    }

    /// Calls back with the home of everybody who waits.
    pub(crate) fn each_home(&self, mut call: impl FnMut(usize)) {
        self.line().iter().for_each(|waiter| call(waiter.home));
    }

    /// When the next deadline passes, at the earliest.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.line().next_deadline()
    }

    /// Takes out the clients that have left. A few at a time, so that nobody waits long for the lock.
    pub(crate) fn remove_gone(&self, is_gone: impl Fn(&T) -> bool) {
        let mut next = Some(0);
        while let Some(from) = next {
            let mut line = self.line();
            let (gone, more) = line.take_some(from, LOOKED_AT_ONCE, |waiter| is_gone(&waiter.item));
            gone.iter().for_each(|waiter| self.ports.turned_away(waiter, Fate::Gone));
            self.clear_flags(&mut line);
            drop(line);
            self.dismiss(gone, Fate::Gone);
            next = more;
        }
    }

    /// Turns everybody away, and whoever comes later.
    pub(crate) fn close(&self) {
        let mut line = self.line();
        let left = line.close();
        left.iter().for_each(|waiter| self.ports.turned_away(waiter, Fate::Draining));
        self.clear_flags(&mut line);
        drop(line);
        self.dismiss(left, Fate::Draining);
    }

    /// A worker has died; `undelivered` is what was in its mailbox, which has been closed. Whoever was on the way
    /// to it waits again, at the old place, or is turned away if there is nobody else.
    pub(crate) fn bury(&self, worker: usize, undelivered: impl IntoIterator<Item = Waiter<T>>) {
        let mut line = self.line();
        self.gate(worker).bar();
        let left = if self.is_anybody_there() { Vec::new() } else { line.take_all() };
        left.iter().for_each(|waiter| self.ports.turned_away(waiter, Fate::NoWorker));
        self.clear_flags(&mut line);
        drop(line);
        self.dismiss(left, Fate::NoWorker);
        for waiter in undelivered {
            self.put_back(waiter, worker);
        }
    }

    fn put_back(&self, waiter: Waiter<T>, worker: usize) {
        let mut line = self.line();
        self.gate(worker).bar();
        self.ports.came_back(&waiter, worker);
        let fate = match (line.is_closed(), self.is_anybody_there()) {
            (true, _) => Some(Fate::Draining),
            (false, false) => Some(Fate::NoWorker),
            (false, true) => None,
        };
        let mut granted = Vec::new();
        let mut left = Vec::new();
        if let Some(fate) = fate {
            self.ports.turned_away(&waiter, fate);
            left.push(waiter);
        } else {
            line.put_back(waiter);
            granted = self.pump_all(&mut line, self.workers.start);
        }
        drop(line);
        self.deliver(granted);
        self.call_all();
        self.dismiss(left, fate.unwrap_or(Fate::NoWorker));
        self.release(worker);
    }

    fn is_anybody_there(&self) -> bool {
        self.workers.clone().any(|worker| self.gate(worker).is_open())
    }

    /// Gives permits to who waits, or flags the gates, of every worker.
    fn pump_all(&self, line: &mut Line<T>, start: usize) -> Granted<T> {
        let mut granted = Vec::new();
        let (before, after) = (self.workers.start..start, start..self.workers.end);
        after.chain(before).for_each(|worker| self.pump(line, worker, &mut granted));
        self.clear_flags(line);
        granted
    }

    fn pump(&self, line: &mut Line<T>, worker: usize, granted: &mut Granted<T>) {
        while !self.claimed && !line.is_empty() {
            line.flagged = true;
            if !self.gate(worker).claim_or_flag() {
                return;
            }
            if let Some(waiter) = line.pop() {
                self.ports.granted(&waiter, worker, false);
                granted.push((worker, waiter));
            }
        }
    }

    fn clear_flags(&self, line: &mut Line<T>) {
        if line.is_empty() && std::mem::take(&mut line.flagged) {
            self.workers.clone().for_each(|worker| self.gate(worker).clear_flag());
        }
    }

    fn deliver(&self, granted: impl IntoIterator<Item = (usize, Waiter<T>)>) {
        for (worker, waiter) in granted {
            if let Err(waiter) = self.ports.deliver(waiter, worker) {
                self.put_back(waiter, worker);
            }
        }
    }

    fn dismiss(&self, left: Vec<Waiter<T>>, fate: Fate) {
        left.into_iter().for_each(|waiter| self.ports.dismiss(waiter, fate));
    }
}

/// How many who wait are looked at before the lock is let go.
const LOOKED_AT_ONCE: usize = 32;
