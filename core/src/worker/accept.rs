//! New connections: as many as come, until nothing is left to open them with.

use std::io;
use std::task::Context;

use super::{BURST_MAX, Phase, Timer, Worker};
use crate::accepting::{SHED_MAX, pause};
use crate::admit::{Admitted, admit};
use crate::backend::{Backend, Listener};
use crate::handler::Handler;
use crate::ledger::Refusal;
use crate::log;

impl<B: Backend, H: Handler<B>> Worker<B, H> {
    pub(super) fn accept(&mut self, cx: &mut Context<'_>) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        if let Some(timer) = &mut self.backoff {
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.backoff = None;
        }
        for index in 0..self.listeners.len() {
            if let Err(error) = self.accept_burst(index, cx) {
                self.accept_failed(index, &error, cx);
            }
        }
    }

    fn accept_burst(&mut self, index: usize, cx: &mut Context<'_>) -> io::Result<()> {
        while !self.is_paused && self.listeners[index].poll_ready(cx)?.is_ready() {
            for accepted in 1..=BURST_MAX {
                let Some(arrived) = self.listeners[index].try_accept()? else { break };
                match admit(&self.local, &self.handler, arrived, false) {
                    Admitted::Settled => {}
                    Admitted::Queued => self.sweep = None, // its deadline may be sooner
                    Admitted::Pausing => {
                        // It may have got its permit at once: then the next parcel says so.
                        self.is_paused = true;
                        return Ok(());
                    }
                }
                if accepted == BURST_MAX {
                    cx.waker().wake_by_ref();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Out of descriptors or memory: tells some clients, and pauses.
    fn accept_failed(&mut self, index: usize, error: &io::Error, cx: &mut Context<'_>) {
        self.local.ledger().accept_failed();
        for _ in 0..SHED_MAX {
            let Ok(Some(_peer)) = self.listeners[index].shed() else { break };
            self.local.ledger().accepted_and_refused(Refusal::NoDescriptor);
        }
        if let Some(times) = self.troubles.report(B::now()) {
            let worker = self.local.index;
            log::guarded(
                || tracing::warn!(worker, %error, times, "cannot accept, so it pauses before it tries again"),
            );
        }
        let mut timer: Timer = Box::pin(B::sleep(pause(self.local.settings().workers())));
        if timer.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        self.backoff = Some(timer);
    }
}
