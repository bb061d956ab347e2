//! The worker's look at a connection, every now and then.

use std::rc::Rc;
use std::time::Instant;

use super::receive::{Input, Patience};
use super::{Cut, Entry, wake};
use crate::backend::{Backend, Conn};
use crate::deadlines::{Deadlines, Look};
use crate::upkeep::Tended;

impl<B: Backend> Entry<B> {
    /// What the sweep does with each connection: one that has received nothing since the last sweep shall
    /// hold no buffer; one that was kicked and has found nothing shall end; one whose deadline has passed is cut.
    pub(crate) fn sweep(&self, deadlines: &Deadlines, now: Instant) {
        let look = self.look();
        let mut pulse = self.pulse.get();
        let own = self.deadlines.borrow();
        if let Some(passed) =
            pulse.beat(own.as_deref().unwrap_or(deadlines), look, now.duration_since(self.opened))
        {
            self.cut(Cut::TimedOut(passed));
        }
        self.pulse.set(pulse);
        if self.kicked.get() {
            match self.patience.get() {
                Patience::Waiting => self.patience.set(Patience::Swept),
                Patience::Swept => {
                    self.patience.set(Patience::Exhausted);
                    wake(&self.receiver);
                }
                Patience::Fresh | Patience::Exhausted | Patience::Over => {}
            }
        } else if !look.received && !self.idle.replace(true) {
            self.look_again();
            wake(&self.receiver);
        }
    }

    /// What has happened since the last sweep.
    fn look(&self) -> Look {
        let (received, waiting) = match self.input.get() {
            Input::Unasked => (false, false),
            Input::Received => (true, false),
            Input::WaitingAgain => (true, true),
            Input::Waiting => (false, true),
        };
        self.input.set(if waiting { Input::Waiting } else { Input::Unasked });
        let io = self.io.borrow();
        let sending = io.is_sending();
        let unacknowledged = if sending { io.unacknowledged() } else { 0 };
        Look {
            received,
            sent: self.flushed.take() | (self.unacknowledged.replace(unacknowledged) != unacknowledged),
            sending,
            waiting,
            in_request: self.request.is_open(),
            request_began: self.request.began.take(),
        }
    }
}

/// An outbound connection that a worker was asked to look after. Its holder closes it.
impl<B: Backend> Tended for Entry<B> {
    fn sweep(self: Rc<Self>, now: Instant) {
        Self::sweep(&self, &Deadlines::none(), now);
    }

    fn close(&self) {}
}
