//! The line: who waits for a permit of any worker, in the order in which they came. Pure data, no clock, no lock.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

/// How somebody waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the queue, which has room for so many.
    Queued,
    /// While its home accepts nothing more. There is always room for it.
    Pausing,
}

/// The ticket of whoever has not been in the line.
const NO_TICKET: u64 = u64::MAX;

/// Somebody who waits.
#[derive(Debug)]
pub(crate) struct Waiter<T> {
    /// The place in the line, for life: who is put back comes before whoever came later.
    ticket: u64,
    pub(crate) place: Place,
    /// The worker that accepted it, and keeps its books.
    pub(crate) home: usize,
    pub(crate) since: Instant,
    /// When waiting ends, if it does.
    pub(crate) deadline: Option<Instant>,
    pub(crate) item: T,
}

impl<T> Waiter<T> {
    /// A newcomer. Its place is given when it is parked.
    pub(crate) fn new(place: Place, home: usize, since: Instant, deadline: Option<Instant>, item: T) -> Self {
        Self { ticket: NO_TICKET, place, home, since, deadline, item }
    }
}

/// What becomes of somebody who waits, and gets no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The deadline has passed.
    Expired,
    /// The client has left.
    Gone,
    /// The server is shutting down.
    Draining,
    /// No worker is left that could serve it.
    NoWorker,
}

/// A first-in-first-out queue with a bound.
#[derive(Debug)]
pub(crate) struct Line<T> {
    waiting: VecDeque<Waiter<T>>,
    next_ticket: u64,
    queued: usize,
    queued_max: usize,
    /// No deadline is earlier than this.
    earliest: Option<Instant>,
    /// Nobody is let in any more.
    closed: bool,
    /// Some gate may have its flag set.
    pub(super) flagged: bool,
}

impl<T> Line<T> {
    pub(crate) fn new(queued_max: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            next_ticket: 0,
            queued: 0,
            queued_max,
            earliest: None,
            closed: false,
            flagged: false,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Lines up, unless the line is full of connections.
    pub(crate) fn push(&mut self, mut waiter: Waiter<T>) -> Result<(), Waiter<T>> {
        if waiter.place == Place::Queued && self.queued >= self.queued_max {
            return Err(waiter);
        }
        waiter.ticket = self.new_ticket();
        self.insert(self.waiting.len(), waiter);
        Ok(())
    }

    /// Lines up again, at the old place; who had none, because a permit was there at once, at the end. The bound
    /// does not apply to whoever was let in already.
    pub(crate) fn put_back(&mut self, mut waiter: Waiter<T>) {
        if waiter.ticket == NO_TICKET {
            waiter.ticket = self.new_ticket();
        }
        let index = self.waiting.partition_point(|other| other.ticket < waiter.ticket);
        self.insert(index, waiter);
    }

    fn new_ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket - 1
    }

    fn insert(&mut self, index: usize, waiter: Waiter<T>) {
        self.queued += usize::from(waiter.place == Place::Queued);
        self.earliest = [self.earliest, waiter.deadline].into_iter().flatten().min();
        self.waiting.insert(index, waiter);
    }

    /// Everybody, whoever has waited longest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiter<T>> {
        self.waiting.iter()
    }

    /// Whoever came last.
    pub(crate) fn last(&self) -> Option<&Waiter<T>> {
        self.waiting.back()
    }

    /// Takes whoever has waited longest.
    pub(crate) fn pop(&mut self) -> Option<Waiter<T>> {
        let waiter = self.waiting.pop_front()?;
        self.queued -= usize::from(waiter.place == Place::Queued);
        Some(waiter)
    }

    /// When the next deadline passes, at the earliest.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.earliest
    }

    /// Takes out everybody whose deadline has passed.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Vec<Waiter<T>> {
        if self.earliest.is_none_or(|earliest| earliest > now) {
            return Vec::new();
        }
        let expired =
            self.take_if(0..self.waiting.len(), |waiter| waiter.deadline.is_some_and(|at| at <= now));
        self.earliest = self.waiting.iter().filter_map(|waiter| waiter.deadline).min();
        expired
    }

    /// Looks at `count` who wait, from the one with the first ticket not below `from`, and takes out those that
    /// `leaves`. Says where to go on; `None` at the end of the line.
    pub(crate) fn take_some(
        &mut self,
        from: u64,
        count: usize,
        leaves: impl FnMut(&Waiter<T>) -> bool,
    ) -> (Vec<Waiter<T>>, Option<u64>) {
        let first = self.waiting.partition_point(|waiter| waiter.ticket < from);
        let end = (first + count).min(self.waiting.len());
        let next = self.waiting.get(end).map(|waiter| waiter.ticket);
        (self.take_if(first..end, leaves), next)
    }

    /// Lets nobody in any more, and takes everybody out.
    pub(crate) fn close(&mut self) -> Vec<Waiter<T>> {
        self.closed = true;
        self.take_all()
    }

    /// Takes everybody out.
    pub(crate) fn take_all(&mut self) -> Vec<Waiter<T>> {
        self.queued = 0;
        self.earliest = None;
        self.waiting.drain(..).collect()
    }

    fn take_if(&mut self, range: Range<usize>, mut leaves: impl FnMut(&Waiter<T>) -> bool) -> Vec<Waiter<T>> {
        let mut left = Vec::new();
        let mut index = range.start;
        for _ in range {
            if leaves(&self.waiting[index]) {
                left.extend(self.waiting.remove(index));
            } else {
                index += 1;
            }
        }
        self.queued -= left.iter().filter(|waiter| waiter.place == Place::Queued).count();
        left
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn waiter(item: u32, deadline: Option<Instant>) -> Waiter<u32> {
        Waiter::new(Place::Queued, 0, Instant::now(), deadline, item)
    }

    fn line_of(count: u32) -> Line<u32> {
        let mut line = Line::new(count as usize);
        (0..count).for_each(|item| line.push(waiter(item, None)).expect("room"));
        line
    }

    fn items(waiters: Vec<Waiter<u32>>) -> Vec<u32> {
        waiters.into_iter().map(|waiter| waiter.item).collect()
    }

    #[test]
    fn first_in_first_out_within_the_bound() {
        let mut line = line_of(3);
        assert_eq!(line.push(waiter(9, None)).expect_err("full").item, 9);
        assert_eq!([line.pop(), line.pop()].map(|popped| popped.expect("somebody").item), [0, 1]);
        assert!(line.push(waiter(3, None)).is_ok());
        assert_eq!(items(line.take_all()), [2, 3]);
        assert!(line.is_empty() && line.queued == 0);
    }

    #[test]
    fn who_pauses_a_home_always_finds_room_and_takes_none() {
        let mut line = line_of(1);
        let pausing = Waiter::new(Place::Pausing, 0, Instant::now(), None, 7);
        assert!(line.push(pausing).is_ok());
        assert_eq!(line.queued, 1);
        line.pop();
        assert!(line.push(waiter(1, None)).is_ok());
        assert_eq!(items(line.take_all()), [7, 1]);
    }

    #[test]
    fn who_is_put_back_keeps_the_place() {
        let mut line = line_of(4);
        let (first, second) = (line.pop().expect("one"), line.pop().expect("two"));
        line.put_back(second);
        line.put_back(first);
        assert_eq!(items(line.take_all()), [0, 1, 2, 3]);
    }

    #[test]
    fn who_is_put_back_and_never_had_a_place_gets_the_last_one() {
        let mut line = line_of(2);
        line.put_back(waiter(7, None));
        line.put_back(waiter(8, None));
        line.pop();
        assert!(line.push(waiter(9, None)).is_err(), "they count");
        line.queued_max = 9;
        assert!(line.push(waiter(9, None)).is_ok());
        let mut seen = Vec::new();
        let mut next = Some(0);
        while let Some(from) = next {
            next = line
                .take_some(from, 1, |waiter| {
                    seen.push(waiter.item);
                    false
                })
                .1;
        }
        assert_eq!((seen, items(line.take_all())), (vec![1, 7, 8, 9], vec![1, 7, 8, 9]));
    }

    #[test]
    fn expired_ones_are_taken_wherever_they_stand() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut line = Line::new(9);
        for (item, deadline) in [(0, None), (1, Some(later)), (2, Some(now)), (3, Some(later))] {
            line.push(waiter(item, deadline)).expect("room");
        }
        assert_eq!(line.next_deadline(), Some(now));
        assert_eq!(items(line.take_expired(now)), [2]);
        assert_eq!(line.next_deadline(), Some(later));
        assert!(line.take_expired(now).is_empty());
        assert_eq!(items(line.take_expired(later + Duration::from_secs(1))), [1, 3], "long after");
        assert_eq!((line.next_deadline(), line.queued), (None, 1));
    }

    #[test]
    fn a_look_over_the_line_goes_on_where_it_stopped() {
        let mut line = line_of(5);
        let (left, next) = line.take_some(0, 2, |waiter| waiter.item == 1);
        assert_eq!((items(left), next), (vec![1], Some(2)));
        line.pop(); // 0 is served meanwhile
        let (left, next) = line.take_some(2, 9, |waiter| waiter.item % 2 == 0);
        assert_eq!((items(left), next), (vec![2, 4], None));
        assert_eq!((items(line.take_all()), line.queued), (vec![3], 0));
    }
}
