//! Which address is tried when, after RFC 8305. Decides, and does nothing: the clock is passed in.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::address::Address;

/// The shortest time between two attempts that RFC 8305 allows.
pub(crate) const ATTEMPT_DELAY_MIN: Duration = Duration::from_millis(10);

/// When a listener whose queue is full is asked again.
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// A race between addresses, each of which is known by its index.
#[derive(Debug)]
pub(crate) struct Race {
    untried: VecDeque<usize>,
    running: usize,
    /// When the next may be tried.
    next_at: Instant,
    /// `None`: further away than the clock counts.
    deadline: Option<Instant>,
    attempt_delay: Duration,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Try this one.
    Begin(usize),
    /// Nothing, until then, unless one answers.
    Wait(Instant),
    /// Give up.
    Over,
}

impl Race {
    pub(crate) fn new(
        addresses: &[Address],
        now: Instant,
        deadline: Duration,
        attempt_delay: Duration,
    ) -> Self {
        let untried = in_turn(addresses);
        Self { untried, running: 0, next_at: now, deadline: now.checked_add(deadline), attempt_delay }
    }

    /// What to do at this moment. An address that it says to begin is running until it is said to have failed.
    pub(crate) fn step(&mut self, now: Instant) -> Step {
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        if is_late || (self.running == 0 && self.untried.is_empty()) {
            return Step::Over;
        }
        if now >= self.next_at
            && let Some(index) = self.untried.pop_front()
        {
            self.running += 1;
            self.next_at = now + self.attempt_delay.min(FAR);
            return Step::Begin(index);
        }
        let next = (!self.untried.is_empty()).then_some(self.next_at);
        let until = [next, self.deadline].into_iter().flatten().min();
        Step::Wait(until.unwrap_or_else(|| now + FAR))
    }

    /// An attempt has failed: the next one is due.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.running -= 1;
        self.next_at = now;
    }

    /// An attempt has to be made again, after those that have not been made yet.
    pub(crate) fn busy(&mut self, index: usize, now: Instant) {
        self.running -= 1;
        self.untried.push_back(index);
        self.next_at = now + BUSY_PAUSE;
    }

    /// Those that have not been tried, or were busy.
    pub(crate) fn untried(&self) -> impl Iterator<Item = usize> + use<> {
        self.untried.clone().into_iter()
    }
}

/// What counts as never: how long a race without a deadline waits before it looks again.
const FAR: Duration = Duration::from_secs(3600);

/// The indices, so that the families take turns, beginning with that of the first; else in the order given.
fn in_turn(addresses: &[Address]) -> VecDeque<usize> {
    let is_of_first_family = |index: &usize| family(&addresses[*index]) == family(&addresses[0]);
    let (mut first, mut second): (VecDeque<_>, VecDeque<_>) =
        (0..addresses.len()).partition(is_of_first_family);
    let mut order = VecDeque::with_capacity(addresses.len());
    while !(first.is_empty() && second.is_empty()) {
        order.extend(first.pop_front());
        order.extend(second.pop_front());
    }
    order
}

/// The family of an address.
#[derive(Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
    Unix,
}

fn family(address: &Address) -> Family {
    match address {
        Address::Ip(ip) if ip.is_ipv4() => Family::V4,
        Address::Ip(_) => Family::V6,
        Address::Unix(_) => Family::Unix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(250);
    const DEADLINE: Duration = Duration::from_secs(1);

    fn race(texts: &[&str]) -> (Race, Instant) {
        let addresses: Vec<_> =
            texts.iter().flat_map(|text| Address::resolve(text).expect("an address")).collect();
        let now = Instant::now();
        (Race::new(&addresses, now, DEADLINE, DELAY), now)
    }

    #[test]
    fn families_take_turns_beginning_with_that_of_the_first() {
        let order = |texts: &[&str]| Vec::from(race(texts).0.untried);
        assert_eq!(order(&["[::1]:1", "[::2]:1", "1.1.1.1:1", "[::3]:1", "1.1.1.2:1"]), [0, 2, 1, 4, 3]);
        assert_eq!(order(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]), [0, 1, 2]);
        assert_eq!(order(&["1.1.1.1:1", "1.1.1.2:1"]), [0, 1]);
        assert!(order(&[]).is_empty());
    }

    #[test]
    fn the_next_is_tried_when_one_does_not_answer_for_a_while() {
        let (mut race, now) = race(&["[::1]:1", "1.1.1.1:1", "1.1.1.2:1"]);
        assert_eq!(race.step(now), Step::Begin(0));
        assert_eq!(race.step(now), Step::Wait(now + DELAY));
        assert_eq!(race.step(now + DELAY), Step::Begin(1));
        assert_eq!(race.step(now + DELAY), Step::Wait(now + 2 * DELAY));
        assert_eq!(race.step(now + 2 * DELAY), Step::Begin(2));
        assert_eq!(race.step(now + 2 * DELAY), Step::Wait(now + DEADLINE));
        assert_eq!(race.step(now + DEADLINE), Step::Over);
    }

    #[test]
    fn the_next_is_tried_at_once_when_one_fails_and_the_last_failure_ends_it() {
        let (mut race, now) = race(&["[::1]:1", "1.1.1.1:1"]);
        assert_eq!(race.step(now), Step::Begin(0));
        race.failed(now);
        assert_eq!(race.step(now), Step::Begin(1));
        race.failed(now);
        assert_eq!(race.step(now), Step::Over);
    }

    #[test]
    fn one_that_is_busy_is_tried_again_until_the_deadline() {
        let (mut race, mut now) = race(&["unix:/busy"]);
        let end = now + DEADLINE;
        let mut tries = 0;
        loop {
            match race.step(now) {
                Step::Begin(index) => race.busy(index, now),
                Step::Wait(until) => {
                    assert!(until > now);
                    now = until;
                }
                Step::Over => break,
            }
            tries += 1;
        }
        assert_eq!(now, end);
        assert!((100..=300).contains(&tries), "{tries}");
        assert_eq!(race.untried().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn without_addresses_or_time_nothing_is_tried() {
        let (mut none, now) = race(&[]);
        assert_eq!(none.step(now), Step::Over);
        let addresses = Address::resolve("1.1.1.1:1").expect("an address");
        assert_eq!(Race::new(&addresses, now, Duration::ZERO, DELAY).step(now), Step::Over);
    }

    #[test]
    fn a_deadline_beyond_the_clock_is_none() {
        let addresses = Address::resolve("1.1.1.1:1").expect("an address");
        let now = Instant::now();
        let mut race = Race::new(&addresses, now, Duration::MAX, DELAY);
        assert_eq!(race.step(now), Step::Begin(0));
        assert!(matches!(race.step(now), Step::Wait(until) if until > now));
    }
}
