//! Tasks take turns with each other, and with the kernel, whatever they do.
//!
//! monoio 0.2.4 puts a task that was woken while it was running at the *front* of its queue (monoio#322), and
//! looks at timers and at wakes from other threads only when the queue is empty. A task that gives way by
//! waking itself gives way to nobody, for ever. And that is how everybody does it: the worker of the server,
//! `yield_now` of every library, `FuturesUnordered`.
//!
//! So every task is [`InTurn`]. One that has been polled [`RUN_MAX`] times running, while no other task was and
//! nothing that was in flight has ended, is not polled again but put down. A task of ours, the usher, goes to
//! the ring and back, which takes one turn of the loop, and wakes whoever was put down before. After
//! [`POLLS_MAX`] polls everybody is put down, so that the queue is empty at last.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use monoio::net::TcpStream;
use monoio::task::JoinHandle;

use crate::handle::{self, Handle};

/// How often a task may be polled before others are. Only one that wakes itself gets this far, or one that is
/// alone.
const RUN_MAX: u32 = 2;

/// How often tasks may be polled before the queue is made empty. It is empty by itself once in a turn of the
/// loop, unless tasks wake themselves or each other all the time; this is for them, a few milliseconds.
const POLLS_MAX: u32 = 4096;

thread_local! {
    static RUN: Cell<Run> = const { Cell::new(Run::START) };
    static WAITING: RefCell<Waiting> = const { RefCell::new(Waiting::NOBODY) };
}

/// Who was polled last, and how often tasks may still be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// The address of the task, which does not move; 0 for nobody.
    task: usize,
    /// How often it was polled running.
    polls: u32,
    /// How many polls are left until the queue is made empty.
    polls_left: u32,
}

impl Run {
    const START: Self = Self { task: 0, polls: 0, polls_left: POLLS_MAX };

    /// The run with another poll of `task`; `None` if it has had its turn.
    #[inline]
    fn with(self, task: usize) -> Option<Self> {
        let polls = if self.task == task { self.polls + 1 } else { 1 };
        let polls_left = self.polls_left.checked_sub(1)?;
        (polls <= RUN_MAX).then_some(Self { task, polls, polls_left })
    }

    /// The run of nobody.
    #[inline]
    fn over(self) -> Self {
        Self { task: 0, polls: 0, ..self }
    }
}

/// Who was put down.
struct Waiting {
    tasks: Vec<Waker>,
    usher: Option<Waker>,
    is_over: bool,
}

impl Waiting {
    const NOBODY: Self = Self { tasks: Vec::new(), usher: None, is_over: false };
}

/// Something that was in flight has ended: whoever is polled now was not woken by itself alone.
#[inline]
pub(crate) fn made_progress() {
    RUN.set(RUN.get().over());
}

pin_project_lite::pin_project! {
    /// A task that takes turns with the others.
    pub(crate) struct InTurn<F> {
        #[pin]
        task: F,
    }
}

impl<F> InTurn<F> {
    pub(crate) fn new(task: F) -> Self {
        Self { task }
    }
}

impl<F: Future> Future for InTurn<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match RUN.get().with((&raw const *self).addr()) {
            Some(run) => {
                RUN.set(run);
                self.project().task.poll(cx)
            }
            None => {
                put_down(cx.waker());
                Poll::Pending
            }
        }
    }
}

#[cold]
fn put_down(task: &Waker) {
    RUN.set(RUN.get().over());
    WAITING.with_borrow_mut(|waiting| {
        waiting.tasks.push(task.clone());
        wake_usher(waiting);
    });
}

fn wake_usher(waiting: &Waiting) {
    if let Some(usher) = &waiting.usher {
        usher.wake_by_ref();
    }
}

/// The usher of one runtime.
pub(crate) struct Turns {
    usher: JoinHandle<TcpStream>,
    bell: Handle,
}

impl Turns {
    /// Starts an usher on this thread's runtime. `bell` is a descriptor that is readable for ever.
    pub(crate) fn begin(bell: OwnedFd) -> io::Result<Self> {
        let (stream, bell) = handle::attach(bell)?;
        RUN.set(Run::START);
        WAITING.set(Waiting::NOBODY);
        Ok(Self { usher: monoio::spawn(usher(stream)), bell })
    }

    /// Ends it.
    pub(crate) async fn end(self) {
        WAITING.with_borrow_mut(|waiting| {
            waiting.is_over = true;
            wake_usher(waiting);
        });
        drop(self.bell.detach(self.usher.await));
        WAITING.set(Waiting::NOBODY);
    }
}

async fn usher(bell: TcpStream) -> TcpStream {
    while poll_fn(somebody_waits).await {
        // Whatever comes of it, the loop has had a turn.
        let _readable = bell.readable(false).await;
        RUN.set(Run::START);
        let mut tasks = WAITING.with_borrow_mut(|waiting| mem::take(&mut waiting.tasks));
        for task in tasks.drain(..) {
            task.wake();
        }
        WAITING.with_borrow_mut(|waiting| waiting.tasks = tasks); // its memory is used again
    }
    bell
}

/// Waits until a task has been put down; gives false when it is time to leave.
fn somebody_waits(cx: &mut Context<'_>) -> Poll<bool> {
    WAITING.with_borrow_mut(|waiting| {
        waiting.usher.get_or_insert_with(|| cx.waker().clone());
        match (waiting.is_over, waiting.tasks.is_empty()) {
            (true, _) => Poll::Ready(false),
            (false, false) => Poll::Ready(true),
            (false, true) => Poll::Pending,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_when_another_task_is_polled() {
        let mut run = Run::START;
        for task in [1, 2, 1, 2, 2, 1, 1, 2] {
            run = run.with(task).expect("nobody was polled too often");
        }
    }

    #[test]
    fn a_task_has_its_turn_and_no_more() {
        let mut run = Run::START;
        for _ in 0..RUN_MAX {
            run = run.with(7).expect("a turn");
        }
        assert_eq!(run.with(7), None);
        assert!(run.with(8).is_some() && run.over().with(7).is_some());
    }

    #[test]
    fn tasks_that_wake_each_other_have_their_turns_and_no_more() {
        let mut run = Run::START;
        for poll in 0..POLLS_MAX {
            run = run.with(1 + poll as usize % 2).expect("a turn");
        }
        assert_eq!(run.with(3), None);
        assert_eq!(run.over().with(3), None);
    }
}
