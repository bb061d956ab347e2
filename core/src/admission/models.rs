//! Models of the exchange for loom, which tries every order of what threads may do. Run by `scripts/loom`.
//!
//! Every model ends in the same way: nothing is taken, no flag is set, nobody waits, and each who came has had
//! exactly one fate.

mod world;

use loom::thread;

use world::World;

#[test]
fn a_park_races_with_the_release_of_the_only_permit() {
    loom::model(|| {
        let world = World::new(1, 1);
        assert!(world.take(0));
        let other = world.clone();
        let releases = thread::spawn(move || other.release(0));
        world.park(0, 7);
        releases.join().unwrap();
        world.finish([7]);
    });
}
