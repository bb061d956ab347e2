//! Who gets what: the slots of a pool, what is idle, and who waits. Decides, and does nothing.
//!
//! A slot is the right to hold one resource, and there are never more than the pool's size. What comes back goes to who
//! has waited longest, hand to hand, so that one return wakes one waiter and nobody overtakes. While anybody waits
//! nothing is idle and no slot is free.
//!
//! Slots may be lent to other pools and borrowed from them; a lender has fewer meanwhile, and a borrower more. Only what
//! nobody waits for is lent. A slot is given back before anybody keeps what he does not need: a borrower has nothing
//! idle.

use std::collections::{BTreeMap, VecDeque};

/// The place of a waiter in the queue; lower is earlier.
pub(crate) type Ticket = u64;

/// The slots of a pool of `T`, whose waiters are woken by a `W`, and which owes what it has borrowed to a `D`.
#[derive(Debug)]
pub(crate) struct Slots<T, W, D> {
    /// How many are its own.
    max: usize,
    /// How many of them are lent to other pools.
    lent: usize,
    /// One for each slot that is borrowed.
    debts: Vec<D>,
    /// Slots that are held: by a lease, by who makes or checks a resource, or by who was granted one and has not come
    /// for it yet.
    held: usize,
    /// The one that came back last is at the back.
    idle: VecDeque<T>,
    is_oldest_first: bool,
    queue: BTreeMap<Ticket, W>,
    granted: BTreeMap<Ticket, Grant<T>>,
    next_ticket: Ticket,
    is_closed: bool,
}

/// What somebody who asked is given.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Grant<T> {
    /// A resource that was idle or came back, and its slot.
    Resource(T),
    /// A slot, to make a resource in.
    Slot,
    /// The pool is closed.
    Closed,
}

/// What became of a resource that came back.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Returned<T, W, D> {
    /// It is idle now.
    Idle,
    /// It was granted to a waiter, who must be woken.
    Granted(W),
    /// It leaves with its slot, to pay a debt.
    Owed(T, D),
    /// There is no place for it any more. Its slot is free.
    Refused(T),
}

/// What became of a slot that came back empty.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Freed<W, D> {
    /// It is free now, or there is no place for it.
    Nobody,
    /// It was granted to a waiter, who must be woken.
    Granted(W),
    /// It leaves, to pay a debt.
    Owed(D),
}

impl<T, W, D> Slots<T, W, D> {
    pub(crate) fn new(max: usize, is_oldest_first: bool) -> Self {
        Self {
            max,
            lent: 0,
            debts: Vec::new(),
            held: 0,
            idle: VecDeque::new(),
            is_oldest_first,
            queue: BTreeMap::new(),
            granted: BTreeMap::new(),
            next_ticket: 0,
            is_closed: false,
        }
    }

    /// Asks: an idle resource, or else a free slot. `None` says to wait.
    #[inline]
    pub(crate) fn ask(&mut self) -> Option<Grant<T>> {
        match self.next_idle() {
            Some(resource) => {
                self.held += 1;
                Some(Grant::Resource(resource))
            }
            None if self.is_closed => Some(Grant::Closed),
            None => self.hold_free().then_some(Grant::Slot),
        }
    }

    /// Asks for an idle resource and nothing else.
    pub(crate) fn ask_idle(&mut self) -> Option<T> {
        let resource = self.next_idle()?;
        self.held += 1;
        Some(resource)
    }

    /// Takes the idle resource that came back first, whatever the order of lending.
    pub(crate) fn ask_oldest(&mut self) -> Option<T> {
        let resource = self.idle.pop_front()?;
        self.held += 1;
        Some(resource)
    }

    /// Exchanges a held slot whose resource is gone for an idle resource, if there is one: nobody waits then, so that
    /// the slot is just free.
    pub(crate) fn exchange(&mut self) -> Option<T> {
        self.next_idle()
    }

    /// Asks for a free slot and nothing else.
    pub(crate) fn ask_slot(&mut self) -> bool {
        !self.is_closed && self.hold_free()
    }

    /// Joins the end of the queue.
    pub(crate) fn wait(&mut self, waker: W) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.queue.insert(ticket, waker);
        ticket
    }

    /// What a waiter has been granted; without anything yet, its waker is replaced.
    pub(crate) fn come_for(&mut self, ticket: Ticket, waker: impl FnOnce() -> W) -> Option<Grant<T>> {
        let granted = self.granted.remove(&ticket);
        if granted.is_none()
            && let Some(known) = self.queue.get_mut(&ticket)
        {
            *known = waker();
        }
        granted
    }

    /// A waiter leaves, with what it has been granted and has not come for: that must be given back.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<Grant<T>> {
        self.queue.remove(&ticket);
        self.granted.remove(&ticket)
    }

    /// A resource comes back, with its slot. `is_reclaimed`: the slot of a debt is wanted by its owner.
    #[inline]
    pub(crate) fn put(&mut self, resource: T, is_reclaimed: impl Fn(&D) -> bool) -> Returned<T, W, D> {
        self.held -= 1;
        if let Some(debt) = self.due(is_reclaimed) {
            return Returned::Owed(resource, debt);
        }
        if self.is_closed || self.len() >= self.room() {
            return Returned::Refused(resource);
        }
        if self.queue.is_empty() {
            self.idle.push_back(resource);
            return Returned::Idle;
        }
        match self.grant(Grant::Resource(resource)) {
            Some(waker) => Returned::Granted(waker),
            None => unreachable!("somebody waits"),
        }
    }

    /// A slot comes back, without a resource.
    pub(crate) fn free(&mut self, is_reclaimed: impl Fn(&D) -> bool) -> Freed<W, D> {
        self.held -= 1;
        if let Some(debt) = self.due(is_reclaimed) {
            return Freed::Owed(debt);
        }
        self.grant_free().map_or(Freed::Nobody, Freed::Granted)
    }

    /// Whether there is something that nobody here waits for: an idle resource or a free slot.
    pub(crate) fn has_spare(&self) -> bool {
        !self.is_closed && self.queue.is_empty() && (!self.idle.is_empty() || self.len() < self.room())
    }

    /// Lends what is to spare to another pool: the resource that came back first, or just a slot.
    pub(crate) fn lend(&mut self) -> Option<Option<T>> {
        self.has_spare().then(|| {
            self.lent += 1;
            self.idle.pop_front()
        })
    }

    /// Borrows a slot, which is held.
    pub(crate) fn borrow(&mut self, debt: D) {
        self.debts.push(debt);
        self.held += 1;
    }

    /// A slot that was lent has come back, and is held.
    pub(crate) fn come_home(&mut self) {
        self.lent = self.lent.saturating_sub(1);
        self.held += 1;
    }

    /// Does not wait any more for what is lent.
    pub(crate) fn write_off(&mut self) {
        self.lent = 0;
    }

    /// Changes how many slots there are: idle resources that have none any more, and who must be woken. Held ones
    /// are not taken away; they are refused when they come back.
    #[must_use]
    pub(crate) fn resize(&mut self, max: usize) -> (Vec<T>, Vec<W>) {
        self.max = max;
        let surplus = self.len().saturating_sub(self.room()).min(self.idle.len());
        let surplus = self.idle.drain(..surplus).collect();
        (surplus, std::iter::from_fn(|| self.grant_free()).collect())
    }

    /// Closes: what was idle, and who must be woken. Whatever is held is refused when it comes back.
    #[must_use]
    pub(crate) fn close(&mut self) -> (Vec<T>, Vec<W>) {
        self.is_closed = true;
        let woken = std::mem::take(&mut self.queue).into_iter().map(|(ticket, waker)| {
            self.granted.insert(ticket, Grant::Closed);
            waker
        });
        (self.idle.drain(..).collect(), woken.collect())
    }

    /// Takes out the idle resources that are not to be kept, the one that came back first first, but leaves as many as
    /// `least` unless they must go.
    pub(crate) fn retire(&mut self, least: usize, mut judge: impl FnMut(&T) -> Verdict) -> Vec<T> {
        let mut gone = Vec::new();
        let mut left = self.idle.len();
        for _ in 0..self.idle.len() {
            let Some(resource) = self.idle.pop_front() else { break };
            match judge(&resource) {
                Verdict::Go => {}
                Verdict::GoIfSpare if left > least => {}
                Verdict::GoIfSpare | Verdict::Stay => {
                    self.idle.push_back(resource);
                    continue;
                }
            }
            left -= 1;
            gone.push(resource);
        }
        gone
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn idle(&self) -> usize {
        self.idle.len()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn lent(&self) -> usize {
        self.lent
    }

    pub(crate) fn borrowed(&self) -> usize {
        self.debts.len()
    }

    /// Whether one more could be made.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_closed && self.len() < self.room()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether it is closed, and has everything back.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_closed && self.held == 0 && self.lent == 0
    }

    /// How many slots there are here.
    #[inline]
    fn room(&self) -> usize {
        (self.max + self.debts.len()).saturating_sub(self.lent)
    }

    /// The debt that a slot which comes back pays: one whose owner wants it, or any if nobody here does.
    #[inline]
    fn due(&mut self, is_reclaimed: impl Fn(&D) -> bool) -> Option<D> {
        if self.debts.is_empty() { None } else { self.due_of_some(is_reclaimed) }
    }

    #[cold]
    fn due_of_some(&mut self, is_reclaimed: impl Fn(&D) -> bool) -> Option<D> {
        let reclaimed = self.debts.iter().position(is_reclaimed);
        let due = reclaimed.or_else(|| self.queue.is_empty().then_some(0))?;
        Some(self.debts.remove(due))
    }

    fn len(&self) -> usize {
        self.held + self.idle.len()
    }

    #[inline]
    fn next_idle(&mut self) -> Option<T> {
        if self.is_oldest_first { self.idle.pop_front() } else { self.idle.pop_back() }
    }

    fn hold_free(&mut self) -> bool {
        let is_free = self.len() < self.room();
        self.held += usize::from(is_free);
        is_free
    }

    /// Grants a free slot to who has waited longest, if there are both.
    fn grant_free(&mut self) -> Option<W> {
        if self.queue.is_empty() || self.len() >= self.room() { None } else { self.grant(Grant::Slot) }
    }

    fn grant(&mut self, grant: Grant<T>) -> Option<W> {
        let (ticket, waker) = self.queue.pop_first()?;
        self.held += 1;
        self.granted.insert(ticket, grant);
        Some(waker)
    }
}

/// Whether an idle resource is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stay,
    /// It may go, if enough are left.
    GoIfSpare,
    Go,
}

#[cfg(test)]
mod tests;
