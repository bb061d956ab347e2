//! Under loom: every order of what the threads of a model may do, with up to three preemptions, or as many as
//! `LOOM_MAX_PREEMPTIONS` says.

pub(super) use loom::cell::UnsafeCell;
use loom::thread::JoinHandle;

use super::world::World;

pub(super) fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

/// Runs a part of a model on a thread of its own.
pub(super) fn spawn<T: 'static>(world: &World, part: impl FnOnce(&World) -> T + 'static) -> JoinHandle<T> {
    let world = world.clone();
    loom::thread::spawn(move || part(&world))
}
