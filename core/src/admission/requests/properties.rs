//! The permits of requests against a simple model, over random histories: first in, first out; nobody waits while a
//! permit is idle; whoever is granted one is woken; and nothing is left.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{Requests, Ticket};

#[derive(Debug, Clone, Copy)]
enum Step {
    TryTake,
    ForceTake,
    Release,
    Ask,
    /// Of those that asked, the one at this index, modulo how many there are.
    Poll(usize),
    GiveUp(usize),
    SetLimit(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::TryTake),
        1 => Just(Step::ForceTake),
        4 => Just(Step::Release),
        4 => Just(Step::Ask),
        4 => any::<usize>().prop_map(Step::Poll),
        2 => any::<usize>().prop_map(Step::GiveUp),
        1 => (0..5_u32).prop_map(Step::SetLimit),
    ]
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Somebody who asked.
struct Asker {
    ticket: Ticket,
    bell: Arc<Bell>,
    has_polled: bool,
}

/// What should be.
struct Expected {
    limit: u32,
    /// Permits that somebody holds, and has seen.
    held: u32,
    /// Who has been granted a permit and has not seen it.
    granted: Vec<Asker>,
    waiting: VecDeque<Asker>,
}

impl Expected {
    fn taken(&self) -> u32 {
        self.held + u32::try_from(self.granted.len()).expect("few")
    }

    fn grant(&mut self) {
        while self.taken() < self.limit
            && let Some(first) = self.waiting.pop_front()
        {
            let rung = first.bell.0.swap(0, Ordering::Relaxed);
            assert_eq!(rung, usize::from(first.has_polled), "whoever has been granted a permit is woken");
            self.granted.push(first);
        }
    }

    fn take(&mut self, index: usize) -> Option<(Asker, bool)> {
        let count = self.granted.len() + self.waiting.len();
        let index = index.checked_rem(count)?;
        if index < self.granted.len() {
            return Some((self.granted.remove(index), true));
        }
        Some((self.waiting.remove(index - self.granted.len())?, false))
    }

    fn put_back(&mut self, index: usize, asker: Asker) {
        let count = self.granted.len() + self.waiting.len() + 1;
        self.waiting.insert(index % count - self.granted.len(), asker);
    }
}

fn apply(requests: &Requests, expected: &mut Expected, step: Step) {
    match step {
        Step::TryTake => {
            let has_room = expected.taken() < expected.limit;
            assert_eq!(requests.try_take(), has_room);
            expected.held += u32::from(has_room);
        }
        Step::ForceTake => {
            requests.force_take();
            expected.held += 1;
        }
        Step::Release => {
            if expected.held > 0 {
                requests.release();
                expected.held -= 1;
            }
        }
        // As the caller does: it asks only when there is no room.
        Step::Ask => {
            if expected.taken() >= expected.limit {
                let asker = Asker { ticket: requests.ask(), bell: Arc::default(), has_polled: false };
                expected.waiting.push_back(asker);
            }
        }
        Step::Poll(index) => {
            let Some((mut asker, is_granted)) = expected.take(index) else { return };
            if index.is_multiple_of(2) {
                asker.bell = Arc::default(); // whoever polled last is woken
            }
            let waker = Waker::from(Arc::clone(&asker.bell));
            let polled = requests.poll_granted(asker.ticket, &Context::from_waker(&waker));
            assert_eq!(polled.is_ready(), is_granted, "first in, first out");
            if is_granted {
                expected.held += 1;
            } else {
                asker.has_polled = true;
                expected.put_back(index, asker);
            }
        }
        Step::GiveUp(index) => {
            if let Some((asker, _)) = expected.take(index) {
                requests.give_up(asker.ticket);
            }
        }
        Step::SetLimit(limit) => {
            requests.set_limit(limit);
            expected.limit = limit;
        }
    }
    expected.grant();
    assert_eq!((requests.taken(), requests.waiting()), (expected.taken(), expected.waiting.len()));
    assert_eq!(requests.limit(), expected.limit);
    assert!(expected.waiting.is_empty() || !requests.has_room(), "a permit is idle while somebody waits");
}

#[test]
fn permits_of_requests_are_what_a_simple_model_says() {
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&(0..4_u32, vec(step(), 0..120)), |(limit, steps)| {
        let requests = Requests::new(limit);
        let mut expected = Expected { limit, held: 0, granted: Vec::new(), waiting: VecDeque::new() };
        let mut peak = 0;
        for step in steps {
            let before = expected.taken();
            apply(&requests, &mut expected, step);
            peak = peak.max(before).max(expected.taken());
        }
        assert!(requests.take_peak() >= peak && requests.take_peak() == requests.taken());
        while let Some((asker, _)) = expected.take(0) {
            requests.give_up(asker.ticket);
            expected.grant();
        }
        (0..expected.held).for_each(|_| requests.release());
        assert_eq!((requests.taken(), requests.waiting()), (0, 0));
        assert!(requests.waiting.borrow().asking.is_empty(), "a place was leaked");
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
