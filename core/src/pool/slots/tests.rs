//! The slots, by example and against a model that is simpler and slower.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Resources and wakers are numbers.
type Tested = Slots<u32, Ticket>;

fn slots(max: usize) -> Tested {
    Slots::new(max, false)
}

fn resource(grant: Option<Grant<u32>>) -> u32 {
    match grant {
        Some(Grant::Resource(resource)) => resource,
        other => panic!("no resource: {other:?}"),
    }
}

/// Joins the queue with its own ticket as the waker.
fn wait(slots: &mut Tested) -> Ticket {
    let next = slots.next_ticket;
    slots.wait(next)
}

#[test]
fn the_one_that_came_back_last_is_lent_out_first_unless_the_oldest_shall_be() {
    for (oldest_first, expected) in [(false, 2), (true, 1)] {
        let mut slots: Tested = Slots::new(2, oldest_first);
        assert_eq!([slots.ask(), slots.ask()], [Some(Grant::Slot), Some(Grant::Slot)]);
        assert_eq!([slots.put(1), slots.put(2)], [Returned::Idle, Returned::Idle]);
        assert_eq!(resource(slots.ask()), expected);
    }
}

#[test]
fn what_comes_back_goes_to_who_has_waited_longest_and_wakes_nobody_else() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let [first, second] = [(); 2].map(|()| wait(&mut slots));
    assert_eq!(slots.put(7), Returned::Granted(first));
    // Nobody overtakes: it is granted, though nobody has come for it.
    assert_eq!(slots.ask(), None);
    assert_eq!(slots.come_for(second, || second), None);
    assert_eq!(slots.come_for(first, || first), Some(Grant::Resource(7)));
    assert_eq!(slots.put(7), Returned::Granted(second));
}

#[test]
fn a_slot_that_comes_back_empty_goes_to_who_has_waited_longest() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let ticket = wait(&mut slots);
    assert_eq!(slots.free(), Some(ticket));
    assert_eq!(slots.come_for(ticket, || ticket), Some(Grant::Slot));
    assert_eq!((slots.held(), slots.free(), slots.held()), (1, None, 0));
}

#[test]
fn who_leaves_takes_nothing_along() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let [first, second, third] = [(); 3].map(|()| wait(&mut slots));
    assert_eq!(slots.leave(second), None);
    assert_eq!(slots.put(7), Returned::Granted(first));
    assert_eq!(slots.leave(first), Some(Grant::Resource(7)));
    assert_eq!(slots.put(7), Returned::Granted(third));
}

#[test]
fn a_smaller_size_drops_what_is_idle_now_and_what_is_held_when_it_comes_back() {
    let mut slots = slots(4);
    for _ in 0..4 {
        assert_eq!(slots.ask(), Some(Grant::Slot));
    }
    assert_eq!([slots.put(1), slots.put(2)], [Returned::Idle, Returned::Idle]);
    assert_eq!(slots.resize(3), (vec![1], vec![]));
    assert_eq!(slots.resize(1), (vec![2], vec![]));
    assert_eq!(slots.put(3), Returned::Refused(3));
    assert_eq!(slots.put(4), Returned::Idle);
    assert_eq!((slots.held(), slots.idle()), (0, 1));
}

#[test]
fn a_larger_size_lets_as_many_in_as_there_is_room_for() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let tickets = [(); 3].map(|()| wait(&mut slots));
    assert_eq!(slots.resize(3), (vec![], vec![tickets[0], tickets[1]]));
    assert_eq!((slots.held(), slots.waiting()), (3, 1));
}

#[test]
fn a_closed_pool_tells_everybody() {
    let mut slots = slots(2);
    assert_eq!([slots.ask(), slots.ask()], [Some(Grant::Slot), Some(Grant::Slot)]);
    let ticket = wait(&mut slots);
    assert_eq!(slots.close(), (vec![], vec![ticket]));
    assert_eq!(slots.come_for(ticket, || ticket), Some(Grant::Closed));
    assert_eq!(slots.ask(), Some(Grant::Closed));
    assert_eq!(slots.put(1), Returned::Refused(1));
    assert_eq!((slots.free(), slots.held()), (None, 0));
}

#[test]
fn of_those_that_may_go_enough_are_left() {
    let mut slots = slots(5);
    for _ in 0..5 {
        assert_eq!(slots.ask(), Some(Grant::Slot));
    }
    assert!((1..=5).all(|resource| slots.put(resource) == Returned::Idle));
    let judge = |resource: &u32| if *resource == 5 { Verdict::Go } else { Verdict::GoIfSpare };
    assert_eq!(slots.retire(2, judge), [1, 2, 3, 5]);
    assert_eq!((slots.idle(), resource(slots.ask())), (1, 4));
}

/// What is asked of the slots.
#[derive(Debug, Clone)]
enum Operation {
    /// Ask, and wait if there is nothing.
    Ask,
    AskIdle,
    AskSlot,
    /// One of those who have been granted something comes for it, or one who has not asks in vain.
    Come(usize),
    /// One of those who wait leaves.
    Leave(usize),
    /// One of those who hold a slot gives a resource back.
    Put,
    /// One of those who hold a slot gives it back empty.
    Free,
    /// One of those who hold a slot exchanges it.
    Exchange,
    Resize(usize),
    Retire(usize),
    Close,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        8 => Just(Operation::Ask),
        1 => Just(Operation::AskIdle),
        1 => Just(Operation::AskSlot),
        6 => (0usize..8).prop_map(Operation::Come),
        2 => (0usize..8).prop_map(Operation::Leave),
        6 => Just(Operation::Put),
        3 => Just(Operation::Free),
        1 => Just(Operation::Exchange),
        1 => (1usize..6).prop_map(Operation::Resize),
        1 => (0usize..4).prop_map(Operation::Retire),
        // Seldom, since nothing happens afterwards.
        1 => prop_oneof![1 => Just(Operation::Close), 20 => Just(Operation::Ask)],
    ];
    proptest::collection::vec(operation, 0..120)
}

/// Everything is idle or held, and whoever waits is served whenever there is something: in the order of a list.
#[derive(Debug, Default)]
struct Model {
    max: usize,
    held: usize,
    idle: Vec<u32>,
    queue: Vec<Ticket>,
    granted: HashMap<Ticket, Grant<u32>>,
    closed: bool,
}

impl Model {
    /// Serves whoever can be served; gives who must be woken.
    fn settle(&mut self) -> Vec<Ticket> {
        let mut woken = Vec::new();
        while !self.queue.is_empty() {
            let grant = match self.idle.pop() {
                _ if self.closed => Grant::Closed,
                Some(resource) => Grant::Resource(resource),
                None if self.held < self.max => Grant::Slot,
                None => break,
            };
            self.held += usize::from(grant != Grant::Closed);
            let ticket = self.queue.remove(0);
            self.granted.insert(ticket, grant);
            woken.push(ticket);
        }
        woken
    }

    /// What has no place any more, the oldest first.
    fn surplus(&mut self) -> Vec<u32> {
        let room = if self.closed { 0 } else { self.max.saturating_sub(self.held) };
        let surplus = self.idle.len().saturating_sub(room);
        self.idle.drain(..surplus).collect()
    }
}

/// The slots and the model side by side, and who uses them.
struct Race {
    slots: Tested,
    model: Model,
    next_resource: u32,
    /// The tickets of who waits, and of who has not come for what was granted.
    tickets: Vec<Ticket>,
}

impl Race {
    fn new(max: usize) -> Self {
        let model = Model { max, ..Model::default() };
        Self { slots: slots(max), model, next_resource: 0, tickets: Vec::new() }
    }

    /// How many slots are held by somebody who has come for it.
    fn holders(&self) -> usize {
        let granted = self.model.granted.values().filter(|grant| **grant != Grant::Closed).count();
        self.model.held - granted
    }

    fn step(&mut self, operation: &Operation) {
        let (slots, model) = (&mut self.slots, &mut self.model);
        match *operation {
            Operation::Ask => {
                let expected = match model.idle.pop() {
                    Some(resource) => Some(Grant::Resource(resource)),
                    None if model.closed => Some(Grant::Closed),
                    None => (model.held < model.max).then_some(Grant::Slot),
                };
                model.held += usize::from(matches!(expected, Some(Grant::Resource(_) | Grant::Slot)));
                let is_refused = expected.is_none();
                assert_eq!(slots.ask(), expected);
                if is_refused {
                    let ticket = wait(slots);
                    model.queue.push(ticket);
                    self.tickets.push(ticket);
                }
            }
            Operation::AskIdle => {
                let expected = model.idle.pop();
                model.held += usize::from(expected.is_some());
                assert_eq!(slots.ask_idle(), expected);
            }
            Operation::AskSlot => {
                let expected = !model.closed && model.held + model.idle.len() < model.max;
                model.held += usize::from(expected);
                assert_eq!(slots.ask_slot(), expected);
            }
            Operation::Resize(max) => {
                model.max = max;
                let expected = (model.surplus(), model.settle());
                assert_eq!(slots.resize(max), expected);
            }
            Operation::Retire(least) => {
                let spare = model.idle.len().saturating_sub(least);
                let expected: Vec<_> = model.idle.drain(..spare).collect();
                assert_eq!(slots.retire(least, |_| Verdict::GoIfSpare), expected);
            }
            Operation::Close => {
                model.closed = true;
                let expected = (model.surplus(), model.settle());
                assert_eq!(slots.close(), expected);
            }
            Operation::Come(which) | Operation::Leave(which) if !self.tickets.is_empty() => {
                let ticket = self.tickets[which % self.tickets.len()];
                self.visit(ticket, matches!(operation, Operation::Leave(_)));
            }
            Operation::Put | Operation::Free | Operation::Exchange if self.holders() > 0 => {
                self.give_back(operation);
            }
            _ => {}
        }
    }

    fn visit(&mut self, ticket: Ticket, leaves: bool) {
        let expected = self.model.granted.remove(&ticket);
        if expected.is_some() || leaves {
            self.tickets.retain(|waiting| *waiting != ticket);
            self.model.queue.retain(|waiting| *waiting != ticket);
        }
        if !leaves {
            return assert_eq!(self.slots.come_for(ticket, || ticket), expected);
        }
        let left = self.slots.leave(ticket);
        assert_eq!(left, expected);
        match left {
            Some(Grant::Resource(_)) => self.give_back(&Operation::Put),
            Some(Grant::Slot) => self.give_back(&Operation::Free),
            Some(Grant::Closed) | None => {}
        }
    }

    fn give_back(&mut self, operation: &Operation) {
        let (slots, model) = (&mut self.slots, &mut self.model);
        match operation {
            Operation::Put => {
                self.next_resource += 1;
                let resource = self.next_resource;
                model.held -= 1;
                model.idle.push(resource);
                let expected = match (&model.surplus()[..], &model.settle()[..]) {
                    ([], []) => Returned::Idle,
                    ([], [woken]) => Returned::Granted(*woken),
                    ([refused], []) => Returned::Refused(*refused),
                    other => panic!("one resource has gone everywhere: {other:?}"),
                };
                assert_eq!(slots.put(resource), expected);
            }
            Operation::Free => {
                model.held -= 1;
                let woken = model.settle();
                assert!(woken.len() <= 1);
                assert_eq!(slots.free(), woken.first().copied());
            }
            _ => {
                let expected = model.idle.pop();
                assert_eq!(slots.exchange(), expected);
                assert!(model.settle().is_empty());
            }
        }
    }

    fn check(&self) {
        let Self { slots, model, .. } = self;
        let actual = (slots.held(), slots.idle(), slots.waiting(), slots.is_closed());
        assert_eq!(actual, (model.held, model.idle.len(), model.queue.len(), model.closed));
        assert_eq!(Vec::from(slots.idle.clone()), model.idle);
        if slots.waiting() > 0 {
            assert!(
                slots.idle() == 0 && slots.held() >= slots.max(),
                "somebody waits for nothing: {slots:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn they_do_what_the_model_does(max in 1usize..5, operations in operations()) {
        let mut race = Race::new(max);
        for operation in &operations {
            race.step(operation);
            race.check();
        }
    }
}
