//! Who gets what: the slots of a pool, what is idle, and who waits. Decides, and does nothing.
//!
//! A slot is the right to hold one resource, and there are never more than the pool's size. What comes back goes to who
//! has waited longest, hand to hand, so that one return wakes one waiter and nobody overtakes. While anybody waits
//! nothing is idle and no slot is free.

use std::collections::{BTreeMap, VecDeque};

/// The place of a waiter in the queue; lower is earlier.
pub(crate) type Ticket = u64;

/// The slots of a pool of `T`, whose waiters are woken by a `W`.
#[derive(Debug)]
pub(crate) struct Slots<T, W> {
    max: usize,
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
pub(crate) enum Returned<T, W> {
    /// It is idle now.
    Idle,
    /// It was granted to a waiter, who must be woken.
    Granted(W),
    /// There is no place for it any more. Its slot is free.
    Refused(T),
}

impl<T, W> Slots<T, W> {
    pub(crate) fn new(max: usize, is_oldest_first: bool) -> Self {
        Self {
            max,
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

    /// A resource comes back, with its slot.
    #[inline]
    pub(crate) fn put(&mut self, resource: T) -> Returned<T, W> {
        self.held -= 1;
        if self.is_closed || self.len() >= self.max {
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

    /// A slot comes back, without a resource; who waits for one must be woken.
    #[must_use]
    pub(crate) fn free(&mut self) -> Option<W> {
        self.held -= 1;
        self.grant_free()
    }

    /// Changes how many slots there are: idle resources that have none any more, and who must be woken. Held ones
    /// are not taken away; they are refused when they come back.
    #[must_use]
    pub(crate) fn resize(&mut self, max: usize) -> (Vec<T>, Vec<W>) {
        self.max = max;
        let surplus = self.len().saturating_sub(max).min(self.idle.len());
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

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn len(&self) -> usize {
        self.held + self.idle.len()
    }

    #[inline]
    fn next_idle(&mut self) -> Option<T> {
        if self.is_oldest_first { self.idle.pop_front() } else { self.idle.pop_back() }
    }

    fn hold_free(&mut self) -> bool {
        let is_free = self.len() < self.max;
        self.held += usize::from(is_free);
        is_free
    }

    /// Grants a free slot to who has waited longest, if there are both.
    fn grant_free(&mut self) -> Option<W> {
        if self.queue.is_empty() || self.len() >= self.max { None } else { self.grant(Grant::Slot) }
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
