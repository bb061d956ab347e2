//! The slots against a model that is simpler and slower.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

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
    /// Another pool wishes for something.
    Lend,
    /// A slot that was lent comes back, with a resource or without.
    Home(bool),
    /// Another pool lends a slot, with a resource or without.
    Borrow(u32, bool),
    /// This pool wants back what it has lent, and no other does.
    Reclaim(u32),
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
        3 => Just(Operation::Lend),
        2 => any::<bool>().prop_map(Operation::Home),
        3 => (0u32..3, any::<bool>()).prop_map(|(debt, filled)| Operation::Borrow(debt, filled)),
        1 => (0u32..4).prop_map(Operation::Reclaim),
        // Seldom, since nothing happens afterwards.
        1 => prop_oneof![1 => Just(Operation::Close), 20 => Just(Operation::Ask)],
    ];
    proptest::collection::vec(operation, 0..120)
}

/// Everything is idle or held, and whoever waits is served whenever there is something: in the order of a list.
#[derive(Debug, Default)]
struct Model {
    max: usize,
    lent: usize,
    debts: Vec<u32>,
    reclaimed: u32,
    held: usize,
    idle: Vec<u32>,
    queue: Vec<Ticket>,
    granted: HashMap<Ticket, Grant<u32>>,
    closed: bool,
}

impl Model {
    fn room(&self) -> usize {
        (self.max + self.debts.len()).saturating_sub(self.lent)
    }

    /// The debt that is paid by what comes back.
    fn due(&mut self) -> Option<u32> {
        let reclaimed = self.debts.iter().position(|debt| *debt == self.reclaimed);
        let any = if self.queue.is_empty() && !self.debts.is_empty() { Some(0) } else { None };
        reclaimed.or(any).map(|position| self.debts.remove(position))
    }

    /// Serves whoever can be served; gives who must be woken.
    fn settle(&mut self) -> Vec<Ticket> {
        let mut woken = Vec::new();
        while !self.queue.is_empty() {
            let grant = match self.idle.pop() {
                _ if self.closed => Grant::Closed,
                Some(resource) => Grant::Resource(resource),
                None if self.held < self.room() => Grant::Slot,
                None => break,
            };
            self.held += usize::from(grant != Grant::Closed);
            let ticket = self.queue.remove(0);
            self.granted.insert(ticket, grant);
            woken.push(ticket);
        }
        woken
    }

    /// What is lent to another pool: the oldest, or a free slot.
    fn lend(&mut self) -> Option<Option<u32>> {
        let has_room = self.held + self.idle.len() < self.room();
        let lent = match &self.idle[..] {
            _ if self.closed || !self.queue.is_empty() => None,
            [] => has_room.then_some(None),
            [..] => Some(Some(self.idle.remove(0))),
        };
        self.lent += usize::from(lent.is_some());
        lent
    }

    /// What has no place any more, the oldest first.
    fn surplus(&mut self) -> Vec<u32> {
        let room = if self.closed { 0 } else { self.room().saturating_sub(self.held) };
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
        let model = Model { max, reclaimed: u32::MAX, ..Model::default() };
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
                    None => (model.held < model.room()).then_some(Grant::Slot),
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
                let expected = !model.closed && model.held + model.idle.len() < model.room();
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
            Operation::Lend => assert_eq!(slots.lend(), model.lend()),
            Operation::Reclaim(debt) => model.reclaimed = debt,
            Operation::Home(filled) if model.lent > 0 => {
                model.lent -= 1;
                slots.come_home();
                self.arrive(filled);
            }
            Operation::Borrow(debt, filled) => {
                model.debts.push(debt);
                slots.borrow(debt);
                self.arrive(filled);
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

    fn arrive(&mut self, filled: bool) {
        self.model.held += 1;
        self.give_back(if filled { &Operation::Put } else { &Operation::Free });
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
                let reclaimed = model.reclaimed;
                if let Some(debt) = model.due() {
                    let expected = Returned::Owed(resource, debt);
                    return assert_eq!(slots.put(resource, |debt| *debt == reclaimed), expected);
                }
                model.idle.push(resource);
                let expected = match (&model.surplus()[..], &model.settle()[..]) {
                    ([], []) => Returned::Idle,
                    ([], [woken]) => Returned::Granted(*woken),
                    ([refused], []) => Returned::Refused(*refused),
                    other => panic!("one resource has gone everywhere: {other:?}"),
                };
                assert_eq!(slots.put(resource, |debt| *debt == reclaimed), expected);
            }
            Operation::Free => {
                model.held -= 1;
                let reclaimed = model.reclaimed;
                let expected = if let Some(debt) = model.due() {
                    Freed::Owed(debt)
                } else {
                    let woken = model.settle();
                    assert!(woken.len() <= 1);
                    woken.first().copied().map_or(Freed::Nobody, Freed::Granted)
                };
                assert_eq!(slots.free(|debt| *debt == reclaimed), expected);
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
        assert_eq!((slots.lent(), &slots.debts), (model.lent, &model.debts));
        assert!(
            slots.borrowed() == 0 || slots.idle() == 0,
            "it has borrowed what it does not need: {slots:?}"
        );
        if slots.waiting() > 0 {
            assert!(
                slots.idle() == 0 && slots.held() >= slots.room(),
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
