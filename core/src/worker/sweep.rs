//! The sweep: every now and then a look at each connection, at what waits, and at the limit.

use std::task::Context;

use super::{Phase, Worker};
use crate::admission::limit::Observed;
use crate::backend::Backend;
use crate::config::Scope;
use crate::handler::Handler;
use crate::last_call::PASS;
use crate::mail::Lines;

impl<B: Backend, H: Handler<B>> Worker<B, H> {
    /// Looks over connections and limit.
    pub(super) fn look_over(&mut self) {
        let now = B::now();
        self.local.registry().sweep(&self.local.settings().deadlines, now);
        if !self.upkeep.is_empty() {
            self.upkeep.sweep(now);
        }
        if let Some(controller) = &mut self.controller {
            let local = &*self.local;
            let (served, mean_service) = local.times().recently_served();
            let (limit, peak) = match local.settings().scope {
                Scope::Request => (local.requests.limit(), local.requests.take_peak()),
                Scope::Connection => {
                    let gate = local.board.gates.gate(local.index);
                    (gate.limit(), gate.taken())
                }
            };
            let next = controller.adjust(&Observed::new(limit, peak, served, mean_service));
            let next = next.clamp(1, local.settings().max_connections);
            if next != limit {
                local.set_limit(next);
            }
        }
    }

    pub(super) fn sweep(&mut self, cx: &mut Context<'_>) {
        loop {
            let serving = matches!(self.phase, Phase::Serving);
            let is_needed = self.local.registry().len() > 0
                || !self.upkeep.is_empty()
                || self.local.board.waiting(self.local.index) > 0;
            if !is_needed || (serving && self.is_swept) {
                self.sweep = None;
                return;
            }
            let local = &*self.local;
            let timer = self.sweep.get_or_insert_with(|| {
                let interval = if serving { local.settings().sweep_interval() } else { PASS };
                let until_deadline =
                    local.office.next_deadline().map(|at| at.saturating_duration_since(B::now()));
                Box::pin(B::sleep(until_deadline.unwrap_or(interval).min(interval)))
            });
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.sweep = None;
            if !self.is_swept {
                self.local.office.expire(B::now());
                self.local.office.remove_gone();
            }
            self.look_over();
        }
    }
}
