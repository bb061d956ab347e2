//! A limit that moves, and permits above it.

use super::world::{Setup, World};
use super::{explore, spawn};

#[test]
fn a_raised_limit_races_with_a_park() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        let raises = spawn(&world, |world| world.set_limit(0, 2));
        assert!(world.park(0, 7));
        raises.join().unwrap();
        assert_eq!(world.served(), [7], "there is room for it");
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn a_limit_of_none_that_is_raised_races_with_a_park() {
    explore(|| {
        let world = Setup { limit: 0, ..Setup::default() }.build();
        let raises = spawn(&world, |world| world.set_limit(0, 1));
        assert!(world.park(0, 7));
        raises.join().unwrap();
        assert_eq!(world.served(), [7], "there is room for it");
        world.finish([7]);
    });
}

#[test]
fn a_lowered_limit_races_with_a_park_and_a_release() {
    explore(|| {
        let world = Setup { limit: 2, ..Setup::default() }.build();
        world.take_all();
        let lowers = spawn(&world, |world| world.set_limit(0, 1));
        let releases = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 7));
        lowers.join().unwrap();
        releases.join().unwrap();
        world.release(0);
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn no_newcomer_passes_who_waits_while_the_limit_rises() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        assert!(world.park(0, 7));
        let raises = spawn(&world, |world| world.set_limit(0, 2));
        assert!(!world.take(0), "a newcomer has passed who waits");
        raises.join().unwrap();
        assert_eq!(world.served(), [7]);
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn a_limit_that_rises_by_two_serves_two_in_their_order() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        assert!(world.park(0, 7) && world.park(0, 8));
        let raises = spawn(&world, |world| world.set_limit(0, 3));
        world.release(0);
        raises.join().unwrap();
        assert_eq!(world.served(), [7, 8]);
        world.finish([7, 8]);
    });
}

#[test]
fn what_is_above_the_limit_is_passed_on_to_nobody() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        world.take_by_force(0);
        assert!(world.park(0, 7));
        let one = spawn(&world, |world| world.release(0));
        assert!(!world.take(0), "a newcomer has passed who waits");
        one.join().unwrap();
        assert_eq!((world.served(), world.taken(0)), (Vec::new(), 1));
        world.release(0);
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn forced_permits_are_given_back_against_a_park() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        world.take_by_force(0);
        let one = spawn(&world, |world| world.release(0));
        let two = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 7));
        one.join().unwrap();
        two.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn somebody_forces_a_permit_while_one_is_given_back() {
    explore(|| {
        let world = Setup::default().build();
        world.take_all();
        assert!(world.park(0, 7));
        let forces = spawn(&world, |world| world.take_by_force(0));
        world.release(0);
        forces.join().unwrap();
        world.release(0);
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

/// Workers that serve nobody, and one who waits.
fn closed_for_now(workers: usize) -> World {
    let world = Setup { workers, limit: 0, ..Setup::default() }.build();
    assert!(world.park_until(0, 7, Some(5)));
    world
}

#[test]
fn whoever_ends_without_a_permit_leaves_no_flag() {
    let ends: [fn(&World); 3] = [|world| world.expire(5), |world| world.remove_gone(7), World::close];
    for end in ends {
        explore(move || {
            let world = closed_for_now(1);
            end(&world);
            world.finish([7]);
        });
    }
}

#[test]
fn whoever_gets_a_permit_of_one_worker_leaves_no_flag_on_the_other() {
    explore(|| {
        let world = closed_for_now(2);
        world.set_limit(1, 2);
        assert!(world.take(1), "nobody waits, and there is room");
        world.release(1);
        world.finish([7]);
        assert_eq!(world.served_by(1), [7]);
    });
    explore(|| {
        let world = closed_for_now(2);
        world.expire(5);
        world.set_limit(1, 1);
        assert!(world.park(0, 8));
        world.finish([8]);
        assert_eq!(world.served_by(1), [8]);
    });
}
