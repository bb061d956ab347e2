//! The slots, by example. `model`: against one that is simpler and slower.

mod model;

use super::*;

/// Resources, wakers and debts are numbers.
type Tested = Slots<u32, Ticket, u32>;

/// Nobody wants anything back.
fn unclaimed(_debt: &u32) -> bool {
    false
}

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
        assert_eq!([slots.put(1, unclaimed), slots.put(2, unclaimed)], [Returned::Idle, Returned::Idle]);
        assert_eq!(resource(slots.ask()), expected);
    }
}

#[test]
fn what_comes_back_goes_to_who_has_waited_longest_and_wakes_nobody_else() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let [first, second] = [(); 2].map(|()| wait(&mut slots));
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(first));
    // Nobody overtakes: it is granted, though nobody has come for it.
    assert_eq!(slots.ask(), None);
    assert_eq!(slots.come_for(second, || second), None);
    assert_eq!(slots.come_for(first, || first), Some(Grant::Resource(7)));
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(second));
}

#[test]
fn a_slot_that_comes_back_empty_goes_to_who_has_waited_longest() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let ticket = wait(&mut slots);
    assert_eq!(slots.free(unclaimed), Freed::Granted(ticket));
    assert_eq!(slots.come_for(ticket, || ticket), Some(Grant::Slot));
    assert_eq!((slots.held(), slots.free(unclaimed), slots.held()), (1, Freed::Nobody, 0));
}

#[test]
fn who_leaves_takes_nothing_along() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let [first, second, third] = [(); 3].map(|()| wait(&mut slots));
    assert_eq!(slots.leave(second), None);
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(first));
    assert_eq!(slots.leave(first), Some(Grant::Resource(7)));
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(third));
}

#[test]
fn a_smaller_size_drops_what_is_idle_now_and_what_is_held_when_it_comes_back() {
    let mut slots = slots(4);
    for _ in 0..4 {
        assert_eq!(slots.ask(), Some(Grant::Slot));
    }
    assert_eq!([slots.put(1, unclaimed), slots.put(2, unclaimed)], [Returned::Idle, Returned::Idle]);
    assert_eq!(slots.resize(3), (vec![1], vec![]));
    assert_eq!(slots.resize(1), (vec![2], vec![]));
    assert_eq!(slots.put(3, unclaimed), Returned::Refused(3));
    assert_eq!(slots.put(4, unclaimed), Returned::Idle);
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
    assert_eq!(slots.put(1, unclaimed), Returned::Refused(1));
    assert_eq!((slots.free(unclaimed), slots.held()), (Freed::Nobody, 0));
}

#[test]
fn of_those_that_may_go_enough_are_left() {
    let mut slots = slots(5);
    for _ in 0..5 {
        assert_eq!(slots.ask(), Some(Grant::Slot));
    }
    assert!((1..=5).all(|resource| slots.put(resource, unclaimed) == Returned::Idle));
    let judge = |resource: &u32| if *resource == 5 { Verdict::Go } else { Verdict::GoIfSpare };
    assert_eq!(slots.retire(2, judge), [1, 2, 3, 5]);
    assert_eq!((slots.idle(), resource(slots.ask())), (1, 4));
}

#[test]
fn what_nobody_waits_for_is_lent_the_oldest_first_and_then_free_slots() {
    let mut slots = slots(3);
    assert_eq!([slots.ask(), slots.ask()], [Some(Grant::Slot), Some(Grant::Slot)]);
    assert_eq!([slots.put(1, unclaimed), slots.put(2, unclaimed)], [Returned::Idle, Returned::Idle]);
    assert_eq!(
        [slots.lend(), slots.lend(), slots.lend(), slots.lend()],
        [Some(Some(1)), Some(Some(2)), Some(None), None]
    );
    assert_eq!((slots.ask(), slots.lent()), (None, 3));
    let ticket = wait(&mut slots);
    slots.come_home();
    assert_eq!(slots.put(1, unclaimed), Returned::Granted(ticket));
    assert_eq!((slots.held(), slots.lent()), (1, 2));
}

#[test]
fn what_is_borrowed_goes_home_when_nobody_waits() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let [first, second] = [(); 2].map(|()| wait(&mut slots));
    slots.borrow(70);
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(first));
    assert_eq!(slots.come_for(first, || first), Some(Grant::Resource(7)));
    assert_eq!(slots.put(7, unclaimed), Returned::Granted(second));
    assert_eq!(slots.come_for(second, || second), Some(Grant::Resource(7)));
    // Any resource will do: this is its own.
    assert_eq!(slots.put(1, unclaimed), Returned::Owed(1, 70));
    assert_eq!(slots.put(7, unclaimed), Returned::Idle);
    assert_eq!((slots.borrowed(), slots.idle()), (0, 1));
}

#[test]
fn what_its_owner_wants_goes_home_first_although_somebody_waits() {
    let mut slots = slots(1);
    assert_eq!(slots.ask(), Some(Grant::Slot));
    let tickets = [(); 3].map(|()| wait(&mut slots));
    for debt in [70, 80] {
        slots.borrow(debt);
        assert!(matches!(slots.free(unclaimed), Freed::Granted(_)));
    }
    assert_eq!(slots.put(7, |debt| *debt == 80), Returned::Owed(7, 80));
    assert_eq!(slots.free(|debt| *debt == 80), Freed::Granted(tickets[2]));
    assert_eq!((slots.held(), slots.borrowed(), slots.free(unclaimed)), (2, 1, Freed::Owed(70)));
}

#[test]
fn a_closed_pool_pays_its_debts_and_waits_for_what_it_has_lent() {
    let mut slots = slots(1);
    assert_eq!(slots.lend(), Some(None));
    let ticket = wait(&mut slots);
    slots.borrow(70);
    assert_eq!(slots.free(unclaimed), Freed::Granted(ticket));
    assert_eq!((slots.close(), slots.lend()), ((vec![], vec![]), None));
    assert_eq!((slots.put(7, unclaimed), slots.is_drained()), (Returned::Owed(7, 70), false));
    slots.come_home();
    assert_eq!((slots.put(7, unclaimed), slots.is_drained()), (Returned::Refused(7), true));
}
