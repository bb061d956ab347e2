//! Closing without an owner: what is dropped is closed to its end by a task of its own.
//!
//! Some runtimes leak what is in flight when they end, so a worker waits for these tasks before it leaves. They are
//! counted for each thread, need nobody's help, and take as long as the runtime takes to withdraw an operation.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

use crate::backend::Backend;

thread_local! {
    static UNDER_WAY: Cell<usize> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Closes something by polling `poll_close` until it is ready: now if that is enough, and else in a task.
pub(crate) fn close<B: Backend>(mut poll_close: impl FnMut(&mut Context<'_>) -> Poll<()> + 'static) {
    if poll_close(&mut Context::from_waker(Waker::noop())).is_ready() {
        return;
    }
    let under_way = UnderWay::new();
    let task = async move {
        poll_fn(poll_close).await;
        drop(under_way);
    };
    // A runtime that is ending, or not there, panics. Nobody is left to close politely then, and this may be a drop.
    let _dropped = catch_unwind(AssertUnwindSafe(|| B::spawn_local(task)));
}

/// Waits until everything that is under way on this thread has ended.
pub(crate) async fn finished() {
    poll_fn(|cx| {
        if UNDER_WAY.get() == 0 {
            return Poll::Ready(());
        }
        WAITING.with_borrow_mut(|waiting| waiting.push(cx.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// Counts one task until it ends, or is dropped unfinished.
pub(crate) struct UnderWay(());

impl UnderWay {
    pub(crate) fn new() -> Self {
        UNDER_WAY.set(UNDER_WAY.get() + 1);
        Self(())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        UNDER_WAY.set(UNDER_WAY.get() - 1);
        if UNDER_WAY.get() == 0 {
            WAITING.take().into_iter().for_each(Waker::wake);
        }
    }
}
