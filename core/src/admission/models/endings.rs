//! Ways out of the line other than a permit, and out of service: each against what gives permits.

use super::world::Setup;
use super::{explore, spawn};
use crate::admission::Fate;

#[test]
fn a_deadline_races_with_a_delivery() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park_until(0, 7, Some(5)));
        let expires = spawn(&world, |world| world.expire(5));
        world.release(0);
        expires.join().unwrap();
        world.finish([7]);
    });
}

#[test]
fn a_deadline_lets_the_next_in_line_have_the_permit() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park_until(0, 7, Some(5)) && world.park_until(0, 8, Some(9)));
        assert!(world.expects(5));
        let expires = spawn(&world, |world| world.expire(5));
        world.release(0);
        expires.join().unwrap();
        world.finish([7, 8]);
        assert!(world.served().contains(&8));
    });
}

#[test]
fn a_deadline_serves_over_the_limit_and_what_is_over_is_not_passed_on() {
    explore(|| {
        let world = Setup { serves_expired: true, ..Setup::default() }.build();
        world.take_all();
        assert!(world.park_until(0, 7, Some(5)) && world.park_until(0, 8, Some(9)));
        let expires = spawn(&world, |world| world.expire(5));
        world.release(0);
        expires.join().unwrap();
        world.finish([7, 8]);
        assert_eq!(world.served(), [7, 8]);
    });
}

#[test]
fn a_client_that_has_left_races_with_its_permit() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park(0, 7));
        let removes = spawn(&world, |world| world.remove_gone(7));
        world.release(0);
        removes.join().unwrap();
        world.finish([7]);
    });
}

#[test]
fn a_client_that_has_left_does_not_take_the_flag_along_from_who_stays() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park(0, 7) && world.park(0, 8));
        let removes = spawn(&world, |world| world.remove_gone(7));
        world.release(0);
        removes.join().unwrap();
        world.finish([7, 8]);
        assert!(world.served().contains(&8));
    });
}

#[test]
fn a_close_races_with_a_park() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        let closes = spawn(&world, |world| world.close());
        let parked = world.park(0, 7);
        closes.join().unwrap();
        let fates = world.turned_away();
        assert_eq!(fates, if parked { vec![(7, Fate::Draining)] } else { Vec::new() });
        world.release(0);
        world.finish([7]);
    });
}

#[test]
fn a_close_races_with_a_release() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        assert!(world.park(0, 7));
        let closes = spawn(&world, |world| world.close());
        world.release(0);
        closes.join().unwrap();
        assert!(!world.park(0, 8));
        world.finish([7, 8]);
    });
}

#[test]
fn a_worker_leaves_only_when_nothing_is_on_its_way() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        world.take_all();
        let parks = spawn(&world, |world| assert!(world.park(1, 7)));
        world.release(0);
        if world.leave(0) {
            assert_eq!(world.served_by(0), []);
        }
        parks.join().unwrap();
        world.release(1);
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}

#[test]
fn a_worker_leaves_only_after_every_permit_was_given_back() {
    explore(|| {
        let world = Setup::default().protected();
        world.take_all();
        let releases = spawn(&world, |world| world.release(0));
        world.leave(0);
        releases.join().unwrap();
        world.finish([]);
    });
}

#[test]
fn who_reserves_a_permit_finds_the_worker_there() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        let sends = spawn(&world, |world| {
            let reserved = world.take(0);
            if reserved {
                world.hand_off(1, 0, 7);
            }
            reserved
        });
        let left = world.leave(0);
        assert!(!(sends.join().unwrap() && left), "sent to a worker that has left");
        world.finish([]);
    });
}

#[test]
fn a_worker_does_not_leave_while_somebody_waits_that_it_could_serve() {
    explore(|| {
        let world = Setup { workers: 2, ..Setup::default() }.protected();
        world.take_all();
        assert!(world.park(1, 7));
        let lowers = spawn(&world, |world| world.set_limit(0, 0));
        world.release(0);
        let left = world.leave(0);
        lowers.join().unwrap();
        assert!(!left || !world.served().is_empty(), "it has left one alone who waits");
        world.release(1);
        world.finish([7]);
        assert_eq!(world.served(), [7]);
    });
}
