//! A worker that dies with connections on their way to it.

use super::world::Setup;
use super::{explore, spawn};
use crate::admission::Fate;

fn two_workers() -> Setup {
    Setup { workers: 2, ..Setup::default() }
}

#[test]
fn a_delivery_to_a_worker_that_dies_goes_to_the_other() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7));
        let dies = spawn(&world, |world| world.die(0));
        world.release(0);
        dies.join().unwrap();
        world.release(1);
        world.finish([7]);
        assert_eq!(world.served_by(1), [7]);
    });
}

#[test]
fn two_deliveries_to_a_worker_that_dies_keep_their_order() {
    explore(|| {
        let world = Setup { limit: 2, ..two_workers() }.build();
        world.take_all();
        assert!(world.park(1, 7) && world.park(1, 8));
        let dies = spawn(&world, |world| world.die(0));
        world.release(0);
        world.release(0);
        dies.join().unwrap();
        world.release(1);
        world.release(1);
        world.finish([7, 8]);
        assert_eq!(world.served_by(1), [7, 8]);
    });
}

#[test]
fn who_came_later_does_not_pass_who_comes_back() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7) && world.park(1, 8));
        world.release(0);
        let dies = spawn(&world, |world| world.die(0));
        dies.join().unwrap();
        world.release(1);
        world.finish([7, 8]);
        assert_eq!(world.served_by(1), [7, 8]);
    });
}

#[test]
fn a_death_races_with_a_release_of_the_other_worker() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7));
        world.release(0);
        let dies = spawn(&world, |world| world.die(0));
        world.release(1);
        dies.join().unwrap();
        world.finish([7]);
        assert_eq!(world.served_by(1), [7]);
    });
}

#[test]
fn a_death_races_with_a_park() {
    explore(|| {
        let world = two_workers().protected();
        assert!(world.take(1));
        let dies = spawn(&world, |world| world.die(0));
        assert!(world.park(1, 7));
        dies.join().unwrap();
        world.release(1);
        world.finish([7]);
        assert_eq!(world.served().len(), 1);
    });
}

#[test]
fn a_death_races_with_a_close() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7));
        world.release(0);
        let dies = spawn(&world, |world| world.die(0));
        world.close();
        dies.join().unwrap();
        world.release(1);
        world.finish([7]);
    });
}

#[test]
fn a_death_after_a_close_turns_away_whoever_was_on_the_way() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7));
        world.release(0);
        world.close();
        world.die(0);
        assert_eq!(world.turned_away(), [(7, Fate::Draining)]);
        world.release(1);
        world.finish([7]);
    });
}

#[test]
fn the_death_of_the_last_worker_turns_everybody_away() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park(0, 7) && world.park(0, 8));
        let dies = spawn(&world, |world| world.die(0));
        world.release(0);
        dies.join().unwrap();
        world.finish([7, 8]);
        let mut fates = world.turned_away();
        fates.sort_by_key(|&(who, _)| who);
        assert_eq!(fates, [(7, Fate::NoWorker), (8, Fate::NoWorker)]);
    });
}

#[test]
fn both_workers_die_and_nobody_is_left_waiting() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        assert!(world.park(1, 7));
        world.release(0);
        let dies = spawn(&world, |world| world.die(0));
        world.die(1);
        dies.join().unwrap();
        world.release(1);
        world.finish([7]);
        assert_eq!(world.turned_away(), [(7, Fate::NoWorker)]);
    });
}

#[test]
fn one_that_was_handed_off_to_a_worker_that_dies_is_served_by_the_sender() {
    explore(|| {
        let world = two_workers().protected();
        world.take_all();
        let dies = spawn(&world, |world| world.die(1));
        world.hand_off(0, 1, 7);
        dies.join().unwrap();
        world.release(0);
        world.finish([7]);
        assert_eq!(world.served_by(0), [7]);
    });
}

#[test]
fn a_newcomer_reserves_a_permit_of_a_worker_that_dies() {
    explore(|| {
        let world = two_workers().protected();
        assert!(world.take(0));
        let dies = spawn(&world, |world| world.die(1));
        if world.take(1) {
            world.hand_off(0, 1, 7);
        } else {
            assert!(world.park(0, 7));
        }
        dies.join().unwrap();
        world.release(0);
        world.finish([7]);
        assert_eq!(world.served_by(0), [7]);
    });
}

#[test]
fn two_that_were_handed_off_line_up_behind_who_waits_and_before_who_comes() {
    explore(|| {
        let world = Setup { limit: 2, ..two_workers() }.build();
        world.take_all();
        assert!(world.park(0, 6));
        world.hand_off(0, 1, 7);
        world.hand_off(0, 1, 8);
        world.die(1);
        assert!(world.park(0, 9));
        world.release(0);
        world.release(0);
        world.finish([6, 7, 8, 9]);
        assert_eq!(world.served_by(0), [6, 7, 8, 9]);
    });
}
