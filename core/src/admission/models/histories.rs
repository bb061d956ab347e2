//! Random histories of two workers: whatever has happened, nobody waits beside an idle permit, no permit is lost or
//! counted twice, and everybody comes to exactly one end. Shorter orders, and each of them, are tried by the models.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::world::{Setup, World};

const WORKERS: usize = 2;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Somebody comes, and waits if there is no room, until this second.
    Arrive(usize, u64),
    /// Somebody is sent at once to the other worker, if that has room.
    HandOff(usize),
    /// Opens the mailbox.
    Serve(usize),
    /// Looks for somebody to claim, where workers do.
    Look(usize),
    Release(usize),
    Force(usize),
    SetLimit(usize, u32),
    /// This second has come.
    Expire(u64),
    Gone(u32),
    Die(usize),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let worker = || 0..WORKERS;
    prop_oneof![
        30 => (worker(), 0..50_u64).prop_map(|(home, second)| Step::Arrive(home, second)),
        6 => worker().prop_map(Step::HandOff),
        20 => worker().prop_map(Step::Serve),
        10 => worker().prop_map(Step::Look),
        30 => worker().prop_map(Step::Release),
        2 => worker().prop_map(Step::Force),
        4 => (worker(), 0..4_u32).prop_map(|(worker, limit)| Step::SetLimit(worker, limit)),
        3 => (0..50_u64).prop_map(Step::Expire),
        3 => (0..60_u32).prop_map(Step::Gone),
        1 => worker().prop_map(Step::Die),
        1 => Just(Step::Close),
    ]
}

/// A world, and the permits that are in somebody's hand.
struct History {
    world: World,
    held: [u32; WORKERS],
    alive: [bool; WORKERS],
    claimed: bool,
    came: u32,
}

impl History {
    fn newcomer(&mut self) -> u32 {
        self.came += 1;
        self.came - 1
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Arrive(home, second) if self.alive[home] => {
                let waits = self.world.waiting() > 0;
                if self.world.take(home) {
                    assert!(!waits || self.claimed, "a newcomer has passed who waits");
                    self.held[home] += 1;
                } else {
                    let who = self.newcomer();
                    self.world.park_until(home, who, Some(second));
                }
            }
            Step::HandOff(to) if self.alive[1 - to] && self.world.take(to) => {
                let who = self.newcomer();
                self.world.hand_off(1 - to, to, who);
            }
            Step::Serve(worker) if self.alive[worker] => {
                self.held[worker] += u32::from(self.world.open(worker));
            }
            Step::Look(worker) if self.alive[worker] => self.world.look(worker),
            Step::Release(worker) if self.held[worker] > 0 => {
                self.held[worker] -= 1;
                self.world.release(worker);
            }
            Step::Force(worker) if self.alive[worker] => {
                self.world.take_by_force(worker);
                self.held[worker] += 1;
            }
            Step::SetLimit(worker, limit) => self.world.set_limit(worker, limit),
            Step::Expire(second) => self.world.expire(second),
            Step::Gone(who) => self.world.remove_gone(who),
            Step::Die(worker) if self.alive[worker] => {
                self.alive[worker] = false;
                self.world.die(worker);
            }
            Step::Close => self.world.close(),
            Step::Arrive(..)
            | Step::HandOff(_)
            | Step::Serve(_)
            | Step::Look(_)
            | Step::Release(_)
            | Step::Force(_)
            | Step::Die(_) => {}
        }
    }

    fn check(&self) {
        for worker in 0..WORKERS {
            let sent = self.world.on_the_way(worker);
            let expected = self.held[worker] + u32::try_from(sent).expect("few");
            assert_eq!(self.world.taken(worker), expected, "permits of worker {worker}");
            let is_idle = self.alive[worker] && self.world.taken(worker) < self.world.limit(worker);
            let looks = self.claimed && self.world.called().contains(&worker);
            let waiting = self.world.waiting();
            assert!(!is_idle || looks || waiting == 0, "somebody waits beside a permit of {worker}");
        }
    }

    fn end(mut self) {
        for worker in 0..WORKERS {
            (0..std::mem::take(&mut self.held[worker])).for_each(|_| self.world.release(worker));
        }
        self.world.close();
        self.world.finish(0..self.came);
    }
}

#[test]
fn nobody_waits_beside_an_idle_permit_and_nothing_is_lost() {
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    let setups = (any::<bool>(), any::<bool>(), 0..4_u32, 1..6_usize);
    let outcome = TestRunner::new(config).run(&(setups, vec(step(), 0..80)), |(setup, steps)| {
        let (claimed, serves_expired, limit, queue_max) = setup;
        let world = Setup { workers: WORKERS, limit, queue_max, claimed, serves_expired }.build();
        let mut history = History { world, held: [0; WORKERS], alive: [true; WORKERS], claimed, came: 0 };
        for step in steps {
            history.apply(step);
            history.check();
        }
        history.end();
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
