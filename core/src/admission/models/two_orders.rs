//! Without loom, in plain unit tests: two orders. The parts of a model run one after the other, each as soon as it
//! is there, or when somebody waits for its end.

use std::cell::Cell;
use std::thread;

use super::world::World;

thread_local! {
    static AT_ONCE: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn explore(model: impl Fn()) {
    for at_once in [true, false] {
        AT_ONCE.set(at_once);
        model();
    }
}

/// A part of a model, before or after it has run.
pub(super) enum Part<'a, T> {
    Waits(Box<dyn FnOnce() -> T + 'a>),
    Done(T),
}

pub(super) fn spawn<'a, T: 'a>(world: &World, part: impl FnOnce(&World) -> T + 'a) -> Part<'a, T> {
    let world = world.clone();
    if AT_ONCE.get() { Part::Done(part(&world)) } else { Part::Waits(Box::new(move || part(&world))) }
}

impl<T> Part<'_, T> {
    pub(super) fn join(self) -> thread::Result<T> {
        Ok(match self {
            Self::Waits(part) => part(),
            Self::Done(value) => value,
        })
    }
}

/// Takes no notice of who touches it.
pub(super) struct UnsafeCell<T>(Cell<T>);

impl<T: Copy> UnsafeCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Cell::new(value))
    }

    pub(super) fn with_mut(&self, touch: impl FnOnce(*mut T)) {
        touch(self.0.as_ptr());
    }
}
