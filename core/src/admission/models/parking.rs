//! A park against releases: no wake is lost, nobody is passed, and what a permit protects is handed on.

use super::world::Setup;
use super::{explore, spawn};

#[test]
fn a_park_races_with_the_release_of_the_only_permit() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        let releases = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 7));
        releases.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn a_park_races_with_a_release_on_either_of_two_workers() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        world.take_all();
        let other = spawn(&world, |world| world.release(1));
        let own = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 7));
        other.join().unwrap();
        own.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn whoever_is_parked_by_a_worker_that_stays_full_is_served_by_the_other() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        world.take_all();
        let other = spawn(&world, |world| world.release(1));
        assert!(world.park(0, 7));
        other.join().unwrap();
        assert_eq!(world.served_by(1), [7]);
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn two_releases_race_for_one_who_waits() {
    explore(|| {
        let world = Setup { limit: 2, ..Setup::default() }.build();
        world.take_all();
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
fn one_release_serves_who_came_first_of_two() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        world.take_all();
        assert!(world.park(0, 7));
        let releases = spawn(&world, |world| world.release(1));
        assert!(world.park(0, 8));
        releases.join().unwrap();
        assert_eq!(world.served(), [7]);
        world.release(0);
        world.finish([7, 8]);
        assert_eq!(world.served(), [7, 8]);
    });
}

#[test]
fn two_park_at_once_and_one_release_serves_one_of_them() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        let parks = spawn(&world, |world| assert!(world.park(0, 7)));
        let releases = spawn(&world, |world| world.release(0));
        assert!(world.park(0, 8));
        parks.join().unwrap();
        releases.join().unwrap();
        assert_eq!(world.served().len(), 1);
        world.finish([7, 8]);
    });
}

#[test]
fn a_newcomer_takes_what_a_release_has_left_with_nobody_waiting() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        let releases = spawn(&world, |world| world.release(0));
        let taken = world.take(0);
        releases.join().unwrap();
        if taken {
            world.release(0);
        }
        world.finish([]);
    });
}

#[test]
fn a_newcomer_takes_what_was_meant_for_one_that_has_left() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park(0, 7));
        let releases = spawn(&world, |world| world.release(0));
        let removes = spawn(&world, |world| world.remove_gone(7));
        let taken = world.take(0);
        releases.join().unwrap();
        removes.join().unwrap();
        if taken {
            world.release(0);
        }
        world.finish([7]);
    });
}

#[test]
fn no_more_wait_than_the_queue_has_room_for() {
    explore(|| {
        let world = Setup { queue_max: 1, ..Setup::default() }.protected();
        world.take_all();
        let other = spawn(&world, |world| world.park(0, 7));
        let (own, other) = (world.park(0, 8), other.join().unwrap());
        assert!(own != other, "room for one");
        world.release(0);
        world.finish([7, 8]);
    });
}
