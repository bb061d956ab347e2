//! Models of the signs for loom: a wish and an offer that come at the same moment do not miss each other.

use std::sync::Arc;

use loom::thread;

use super::signs::Signs;

/// What the pool that has something to spare does: takes a wish if it sees one.
fn look(lender: &Signs, wisher: &Signs) -> bool {
    lender.offer();
    wisher.wants() && wisher.take_wish()
}

/// What the pool that wants something does: whether it has called the other.
fn wish(wisher: &Signs, lender: &Signs) -> bool {
    wisher.wish(1);
    lender.call()
}

#[test]
fn a_wish_races_with_an_offer() {
    loom::model(|| {
        let [lender, wisher] = [(); 2].map(|()| Arc::new(Signs::new()));
        let (theirs, own) = (Arc::clone(&lender), Arc::clone(&wisher));
        let wishing = thread::spawn(move || wish(&own, &theirs));
        let seen = look(&lender, &wisher);
        let called = wishing.join().unwrap();
        assert!(seen || called, "they have missed each other");
        assert!(seen || look(&lender, &wisher), "whoever is called finds the wish");
        assert!(!wisher.wants());
    });
}

#[test]
fn of_two_who_wish_the_second_is_seen_by_whom_the_first_has_called() {
    loom::model(|| {
        let [lender, first, second] = [(); 3].map(|()| Arc::new(Signs::new()));
        lender.offer();
        assert!(wish(&first, &lender), "there was an offer");
        let (theirs, own) = (Arc::clone(&lender), Arc::clone(&second));
        let wishing = thread::spawn(move || wish(&own, &theirs));
        let seen = look(&lender, &second);
        let called = wishing.join().unwrap();
        assert!(seen || called, "nobody sees the second");
    });
}

#[test]
fn a_wish_is_taken_by_one() {
    loom::model(|| {
        let wisher = Arc::new(Signs::new());
        wisher.wish(1);
        let other = Arc::clone(&wisher);
        let taking = thread::spawn(move || other.take_wish());
        let taken = wisher.take_wish();
        assert!(taken != taking.join().unwrap());
    });
}
