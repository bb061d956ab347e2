//! What is counted: each core by itself, added up when its handler ends.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answers::Cut;

/// What happened, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Clients cut off because of what is no RESP.
    pub malformed: u64,
    /// Clients cut off because of a limit.
    pub too_big: u64,
    /// Clients cut off because they spoke HTTP.
    pub forbidden: u64,
    /// Clients cut off because they did not send the rest, or did not read, for too long.
    pub stalled: u64,
    /// Clients cut off because too many replies were waiting for them.
    pub unread: u64,
    /// Clients cut off in the middle of a reply.
    pub reply_cut: u64,
    /// Clients cut off in the middle of a request.
    pub request_cut: u64,
    /// Clients that had a connection bound to them.
    pub bound: u64,
    /// Commands that were refused because they bind.
    pub refused: u64,
    /// Requests answered by an error because the upstream died or was silent.
    pub lost: u64,
    /// Requests answered by an error because there was no upstream connection.
    pub unreached: u64,
    /// Upstream connections that died or misbehaved.
    pub upstreams_lost: u64,
}

/// Totals that several workers add to.
pub type SharedTotals = Arc<Mutex<Totals>>;

/// The counters of one core.
#[derive(Debug, Clone, Default)]
pub struct Tally(Rc<Cell<Totals>>);

impl Tally {
    /// Counts some more.
    pub fn count(&self, which: impl FnOnce(&mut Totals) -> &mut u64, more: u64) {
        let mut totals = self.0.get();
        *which(&mut totals) += more;
        self.0.set(totals);
    }

    /// Counts a client that is cut off.
    pub fn cut(&self, cut: Cut) {
        let which = |totals: &mut Totals| match cut {
            Cut::Malformed(_) => totals.malformed += 1,
            Cut::TooBig(_) => totals.too_big += 1,
            Cut::Forbidden => totals.forbidden += 1,
            Cut::Stalled => totals.stalled += 1,
            Cut::Unread => totals.unread += 1,
            Cut::ReplyCut => totals.reply_cut += 1,
            Cut::RequestCut => totals.request_cut += 1,
        };
        let mut totals = self.0.get();
        which(&mut totals);
        self.0.set(totals);
    }

    /// Adds what was counted here to the whole.
    pub fn add_to(&self, whole: &SharedTotals) {
        let mut whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = self.0.take();
        let sums = whole.fields_mut().into_iter().zip(mine.fields());
        sums.for_each(|((_, sum), (_, more))| *sum += more);
    }
}

impl Totals {
    fn fields(&self) -> [(&'static str, u64); 12] {
        let mut copy = *self;
        copy.fields_mut().map(|(name, value)| (name, *value))
    }

    fn fields_mut(&mut self) -> [(&'static str, &mut u64); 12] {
        [
            ("malformed", &mut self.malformed),
            ("too_big", &mut self.too_big),
            ("forbidden", &mut self.forbidden),
            ("stalled", &mut self.stalled),
            ("unread", &mut self.unread),
            ("reply_cut", &mut self.reply_cut),
            ("request_cut", &mut self.request_cut),
            ("bound", &mut self.bound),
            ("refused", &mut self.refused),
            ("lost", &mut self.lost),
            ("unreached", &mut self.unreached),
            ("upstreams_lost", &mut self.upstreams_lost),
        ]
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("proxy:")?;
        self.fields().iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}
