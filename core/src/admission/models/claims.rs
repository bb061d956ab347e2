//! Workers that claim who waits: everybody is claimed, though some workers look in vain.

use super::world::Setup;
use super::{explore, spawn};

fn claimed() -> Setup {
    Setup { claimed: true, ..Setup::default() }
}

#[test]
fn a_park_races_with_a_release_and_a_look() {
    explore(|| {
        let world = claimed().protected();
        world.take_all();
        let own = spawn(&world, |world| {
            world.release(0);
            world.claim(0);
        });
        assert!(world.park(0, 7));
        own.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn a_release_calls_its_worker_for_whoever_was_parked_before() {
    explore(|| {
        let world = claimed().protected();
        world.take_all();
        let releases = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 7));
        releases.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn only_workers_with_room_are_called_and_only_when_somebody_waits() {
    explore(|| {
        let world = Setup { workers: 2, ..claimed() }.protected();
        world.take_all();
        world.release(1);
        assert_eq!(world.called(), []);
        assert!(world.park(0, 7));
        assert_eq!(world.called(), [1]);
        world.release(0);
        assert_eq!(world.called(), [1, 0]);
        world.finish([7]);
    });
}

#[test]
fn a_park_finds_the_other_worker_with_room_or_looking() {
    explore(|| {
        let world = Setup { workers: 2, ..claimed() }.protected();
        assert!(world.take(0));
        let other = spawn(&world, |world| world.claim(1));
        assert!(world.park(0, 7));
        other.join().unwrap();
        world.finish_claims();
        assert_eq!(world.served_by(1), [7]);
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn two_look_for_one_who_waits() {
    explore(|| {
        let world = Setup { workers: 2, ..claimed() }.protected();
        assert!(world.park(0, 7));
        let other = spawn(&world, |world| world.claim(1));
        world.claim(0);
        other.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn a_look_in_vain_gives_back_what_it_took() {
    explore(|| {
        let world = claimed().protected();
        let looks = spawn(&world, |world| world.claim(0));
        let taken = world.take(0);
        looks.join().unwrap();
        if taken {
            world.release(0);
        }
        world.finish([]);
    });
}

#[test]
fn a_raised_limit_calls_the_worker() {
    explore(|| {
        let world = claimed().build();
        world.take_all();
        let raises = spawn(&world, |world| world.set_limit(0, 2));
        assert!(world.park(0, 7));
        raises.join().unwrap();
        world.finish_claims();
        assert_eq!(world.served(), [7], "there is room for it");
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn one_that_comes_back_is_claimed_by_another() {
    explore(|| {
        let world = Setup { workers: 2, ..claimed() }.protected();
        assert!(world.take(1));
        let dies = spawn(&world, |world| world.die(1));
        world.hand_off(0, 1, 7);
        dies.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served_by(0), [7]);
    });
}

#[test]
fn a_deadline_races_with_a_claim() {
    explore(|| {
        let world = claimed().protected();
        assert!(world.take(0) && world.park_until(0, 7, Some(5)));
        let expires = spawn(&world, |world| world.expire(5));
        world.release(0);
        world.claim(0);
        expires.join().unwrap();
        world.finish([7]);
    });
}
