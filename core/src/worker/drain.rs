//! The way out: what has connected is served, then the listeners are closed, then whatever is left ends.

use std::task::{Context, Poll, ready};

use super::{Timer, Worker};
use crate::admit::admit;
use crate::backend::{Backend, Listener};
use crate::handler::Handler;
use crate::last_call::{LastCall, PASS, Step};
use crate::local::Greeting;
use crate::sync::Ordering;

/// Where a worker is in its life.
pub(super) enum Phase {
    Serving,
    /// Nothing new is accepted; what is left may go on until the grace period ends.
    Draining(Timer),
    /// Whatever is left is aborted.
    Aborting,
}

impl<B: Backend, H: Handler<B>> Worker<B, H> {
    pub(super) fn drain(&mut self) {
        if !matches!(self.phase, Phase::Serving) {
            return;
        }
        self.phase = Phase::Draining(Box::pin(B::sleep(self.local.settings().grace)));
        self.local.greeting.set(Greeting::Kick);
        self.backoff = None;
        // Whoever has connected before is still served.
        let mut is_filtered = true;
        for listener in &mut self.listeners {
            is_filtered &= listener.refuse_new().is_ok();
        }
        if !is_filtered {
            self.local.board.unfiltered.store(true, Ordering::Relaxed);
        }
        self.accept_queued();
        self.last_call = Some((LastCall::new(is_filtered), Box::pin(B::sleep(PASS))));
        self.local.registry().kick_all();
        self.sweep = None; // the next one comes sooner
    }

    /// Accepts whatever is queued, and says how many there were. Out of descriptors there may be one, which is accepted
    /// when a connection has ended.
    fn accept_queued(&mut self) -> usize {
        let mut found = 0;
        for index in 0..self.listeners.len() {
            for _ in 0..self.local.settings().backlog {
                let accepted = self.listeners[index].try_accept();
                if matches!(accepted, Ok(None)) {
                    break;
                }
                found += 1;
                let Ok(Some(arrived)) = accepted else {
                    self.local.ledger().accept_failed();
                    break;
                };
                let _parked = admit(&self.local, &self.handler, arrived, true);
            }
        }
        found
    }

    pub(super) fn abort(&mut self) {
        self.phase = Phase::Aborting;
        self.local.greeting.set(Greeting::Abort);
        self.last_call = None;
        self.local.office.close();
        self.local.registry().abort_all();
    }

    /// Ready when nothing is left: no listener, no connection, and nothing on its way to this worker.
    pub(super) fn leave(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.phase {
            Phase::Serving => return Poll::Pending,
            Phase::Draining(grace) => {
                if grace.as_mut().poll(cx).is_ready() {
                    self.abort();
                }
            }
            Phase::Aborting => {}
        }
        ready!(self.close_when_quiet(cx));
        while let Some(listener) = self.listeners.last_mut() {
            ready!(listener.poll_close(cx));
            self.listeners.pop();
        }
        if self.local.registry().is_empty(cx) && self.local.board.gates.gate(self.local.index).try_close() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Accepts until nothing is queued for anybody. Ready when the listeners may be closed.
    fn close_when_quiet(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some((mut last_call, mut timer)) = self.last_call.take() {
            if timer.as_mut().poll(cx).is_pending() {
                self.last_call = Some((last_call, timer));
                return Poll::Pending;
            }
            let mut found = self.accept_queued();
            if found == 0 {
                // A kernel that does not tell has none as far as we know.
                let half_open = |listener: &mut B::Listener| listener.half_open().unwrap_or(0);
                found = self.listeners.iter_mut().map(half_open).sum();
            }
            self.local.registry().kick_all();
            let quiet = &self.local.board.quiet;
            let all_quiet = quiet.load(Ordering::Relaxed) >= self.local.settings().workers();
            match last_call.pass(found, all_quiet) {
                Step::Close => break,
                Step::Again => {}
                Step::Quiet => _ = quiet.fetch_add(1, Ordering::Relaxed),
            }
            self.last_call = Some((last_call, Box::pin(B::sleep(PASS))));
        }
        self.sweep(cx);
        Poll::Ready(())
    }
}
