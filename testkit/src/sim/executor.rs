//! Tasks, and which of those that can run is next: the world's random source decides.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use fastrand::Rng;

/// The name of a task; never used twice.
type Id = u64;

/// The root future, which is not among the tasks because it may borrow from its caller.
const ROOT: Id = 0;

/// The tasks of a world.
pub(super) struct Executor {
    tasks: RefCell<BTreeMap<Id, Task>>,
    ready: Arc<Ready>,
    root: Waker,
    next_id: Cell<Id>,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
}

/// What one step was.
pub(super) enum Step<T> {
    Done,
    RootEnded(T),
}

impl Default for Executor {
    fn default() -> Self {
        let ready = Arc::default();
        let root = Alarm::waker(ROOT, &ready);
        root.wake_by_ref();
        Self { tasks: RefCell::default(), ready, root, next_id: Cell::new(ROOT + 1) }
    }
}

impl Executor {
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let id = self.next_id.replace(self.next_id.get() + 1);
        let waker = Alarm::waker(id, &self.ready);
        waker.wake_by_ref();
        self.tasks.borrow_mut().insert(id, Task { future: Box::pin(future), waker });
    }

    /// How many tasks have not ended.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.borrow().len()
    }

    /// Whether no task can run.
    pub(super) fn is_idle(&self) -> bool {
        self.ready.lock().is_empty()
    }

    /// Takes one of those that can run.
    pub(super) fn choose(&self, random: &mut Rng) -> Option<Arc<Alarm>> {
        let mut ready = self.ready.lock();
        if ready.is_empty() {
            return None;
        }
        let index = random.usize(..ready.len());
        Some(ready.swap_remove(index))
    }

    /// Polls the chosen one.
    pub(super) fn step<F: Future>(&self, chosen: Arc<Alarm>, root: Pin<&mut F>) -> Step<F::Output> {
        chosen.rung.store(false, Ordering::Relaxed);
        if chosen.id == ROOT {
            return match root.poll(&mut Context::from_waker(&self.root)) {
                Poll::Ready(output) => Step::RootEnded(output),
                Poll::Pending => Step::Done,
            };
        }
        // Taken out meanwhile, since it may spawn.
        let task = self.tasks.borrow_mut().remove(&chosen.id);
        if let Some(mut task) = task
            && task.future.as_mut().poll(&mut Context::from_waker(&task.waker)).is_pending()
        {
            self.tasks.borrow_mut().insert(chosen.id, task);
        }
        Step::Done
    }

    /// Drops every task, and those that they spawn while they are dropped.
    pub(super) fn clear(&self) {
        while let Some((_, task)) = { self.tasks.borrow_mut().pop_first() } {
            drop(task);
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("tasks", &self.tasks.borrow().keys()).finish_non_exhaustive()
    }
}

/// Those that can run. Locked only because wakers must be `Send`.
#[derive(Default)]
struct Ready(Mutex<Vec<Arc<Alarm>>>);

impl Ready {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Alarm>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What wakes one task.
pub(super) struct Alarm {
    id: Id,
    /// It is among the ready.
    rung: AtomicBool,
    ready: Arc<Ready>,
}

impl Alarm {
    fn waker(id: Id, ready: &Arc<Ready>) -> Waker {
        Arc::new(Self { id, rung: AtomicBool::new(false), ready: Arc::clone(ready) }).into()
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.rung.swap(true, Ordering::Relaxed) {
            self.ready.lock().push(Arc::clone(self));
        }
    }
}
