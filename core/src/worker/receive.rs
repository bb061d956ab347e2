//! What other workers send: connections, and word of what has changed.

use std::task::{Context, Poll};

use futures_util::Stream;

use super::{BURST_MAX, Worker};
use crate::backend::Backend;
use crate::connection::Route;
use crate::handler::Handler;
use crate::local::Arrival;
use crate::mail::Parcel;
use crate::serve::{refuse, serve};

impl<B: Backend, H: Handler<B>> Worker<B, H> {
    pub(super) fn receive(&mut self, cx: &mut Context<'_>) {
        for opened in 0..BURST_MAX {
            let Poll::Ready(Some(parcel)) = self.mailbox.as_mut().poll_next(cx) else {
                return self.claim();
            };
            if opened == 0 {
                self.local.ledger().found_mail();
            }
            self.open(parcel);
        }
        cx.waker().wake_by_ref();
    }

    fn open(&mut self, parcel: Parcel<B::Socket>) {
        match parcel {
            Parcel::HandedOff { envelope, from } => {
                self.arrived(Arrival { envelope, route: Route::HandedOff { from } });
            }
            Parcel::Granted { waiter } => {
                let waited = B::now().saturating_duration_since(waiter.since);
                self.local.times().waited(waited);
                let route = Route::Queued { from: waiter.home, waited };
                self.arrived(Arrival { envelope: waiter.item, route });
            }
            Parcel::Refuse { envelope, refusal } => {
                refuse(&self.handler, envelope, refusal, &self.local);
            }
            Parcel::Resume => self.is_paused = false,
            Parcel::Call => {}
        }
    }

    /// Serves a connection that was sent here, with a permit.
    fn arrived(&self, arrival: Arrival<B::Socket>) {
        self.local.ledger().received();
        serve(&self.handler, arrival, &self.local);
    }

    /// Where workers claim who waits: looks whether somebody does.
    fn claim(&mut self) {
        while let Some(waiter) = self.local.office.claim(self.local.index) {
            self.open(Parcel::Granted { waiter });
        }
    }
}
