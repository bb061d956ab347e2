//! One operation at a time on one half of a socket.
//!
//! monoio's operations are futures of types that cannot be named, and borrow the half that they work on. So a
//! lane is one future that owns the half and performs operations as they come. It is boxed once for the life
//! of a connection: no operation allocates anything of ours, and none is dropped because its caller stopped
//! polling.

use std::cell::Cell;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::turns;

/// Performs operations that give an `O`, on an `H`, with the help of an `S`.
pub(crate) struct Lane<S, O, H> {
    desk: Rc<Desk<S, O>>,
    /// Performs what is asked for. Ends when it is told to, and gives its half back.
    clerk: Pin<Box<dyn Future<Output = H>>>,
    is_busy: bool,
}

/// What a lane shares with its clerk: a call, an outcome, and what the operations need.
pub(crate) struct Desk<S, O> {
    call: Cell<Call>,
    output: Cell<Option<O>>,
    shared: S,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Nothing,
    Operation,
    End,
}

impl<S: Default + 'static, O: 'static, H: 'static> Lane<S, O, H> {
    /// A lane whose operations are calls of `operation`.
    pub(crate) fn new(mut half: H, operation: impl AsyncFn(&mut H, &Rc<Desk<S, O>>) -> O + 'static) -> Self {
        let desk =
            Rc::new(Desk { call: Cell::new(Call::Nothing), output: Cell::new(None), shared: S::default() });
        let clerks_desk = Rc::clone(&desk);
        let clerk = Box::pin(async move {
            while let Call::Operation = poll_fn(|_| clerks_desk.poll_call()).await {
                let output = operation(&mut half, &clerks_desk).await;
                clerks_desk.output.set(Some(output));
            }
            half
        });
        Self { desk, clerk, is_busy: false }
    }

    /// What the operations need.
    #[inline]
    pub(crate) fn shared(&self) -> &S {
        &self.desk.shared
    }

    /// Whether an operation has begun and its outcome has not been taken.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Begins an operation; the kernel learns of it after [`poll`](Self::poll).
    #[inline]
    pub(crate) fn begin(&mut self) {
        assert!(!self.is_busy, "an operation begins while another is in flight");
        self.is_busy = true;
        self.desk.call.set(Call::Operation);
    }

    /// Waits for the outcome of the operation in flight.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<O> {
        // It does not end, since it has not been told to.
        let _pending = self.clerk.as_mut().poll(cx);
        match self.desk.output.take() {
            Some(output) => {
                self.is_busy = false;
                turns::made_progress();
                Poll::Ready(output)
            }
            None => Poll::Pending,
        }
    }

    /// The half of the socket. Nothing may be in flight.
    pub(crate) fn into_half(mut self) -> H {
        assert!(!self.is_busy, "a half is taken from its lane while an operation is in flight");
        self.desk.call.set(Call::End);
        match self.clerk.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(half) => half,
            Poll::Pending => unreachable!("an idle clerk ends when it is told to"),
        }
    }
}

impl<S, O> Desk<S, O> {
    /// Waits for a call, without a waker: whoever calls polls the clerk.
    #[inline]
    fn poll_call(&self) -> Poll<Call> {
        match self.call.replace(Call::Nothing) {
            Call::Nothing => Poll::Pending,
            call => Poll::Ready(call),
        }
    }
}

impl<S, O> Deref for Desk<S, O> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(lane: &mut Lane<(), usize, Vec<u32>>) -> usize {
        lane.begin();
        match lane.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(length) => length,
            Poll::Pending => panic!("no operation of this lane waits"),
        }
    }

    #[test]
    fn operations_follow_each_other_on_one_half_that_comes_back() {
        let mut lane = Lane::new(Vec::new(), async |half: &mut Vec<u32>, _desk: &Rc<Desk<(), usize>>| {
            half.push(7);
            half.len()
        });
        assert_eq!((call(&mut lane), call(&mut lane), lane.is_busy()), (1, 2, false));
        assert_eq!(lane.into_half(), [7, 7]);
    }

    #[test]
    fn an_operation_that_waits_stays_in_flight() {
        type Gate = Cell<bool>;
        let mut lane = Lane::new((), async |_half: &mut (), gate: &Rc<Desk<Gate, ()>>| {
            poll_fn(|_cx| if gate.get() { Poll::Ready(()) } else { Poll::Pending }).await;
        });
        let cx = &mut Context::from_waker(Waker::noop());
        lane.begin();
        assert!(lane.poll(cx).is_pending() && lane.poll(cx).is_pending() && lane.is_busy());
        lane.shared().set(true);
        assert!(lane.poll(cx).is_ready() && !lane.is_busy());
    }
}
