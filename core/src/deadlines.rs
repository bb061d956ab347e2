//! How long a connection may take: decided at each sweep, from what happened since the last. No timers.

use std::time::Duration;

use crate::check::deadline_within;
use crate::error::StartError;

/// How long a connection may take, and wait. `None`: for ever.
///
/// One look over all connections decides, every 0.4 s, or four times within the shortest deadline, whichever
/// is more often. So a connection is cut after its deadline, late by up to two such looks, and never before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlines {
    /// From its start until its first byte arrives. Default: none, since some protocols let the server speak first.
    pub first_byte: Option<Duration>,
    /// From one byte to the next within a request: while the handler waits for input and holds a
    /// [`Request`](crate::Request). Without requests `idle` is what counts. Default: none.
    pub receive: Option<Duration>,
    /// For one request, from its permit to its end. A client that sends a byte now and then ends here.
    /// Default: none.
    pub request: Option<Duration>,
    /// Between requests: while the handler waits for input, holds no request, and nothing is being sent.
    /// Default: none.
    pub idle: Option<Duration>,
    /// While a send makes no progress: the peer does not read. The connection is reset then. Default: a minute.
    pub send: Option<Duration>,
    /// For the whole connection. Default: none.
    pub life: Option<Duration>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            first_byte: None,
            receive: None,
            request: None,
            idle: None,
            send: Some(Duration::from_secs(60)),
            life: None,
        }
    }
}

impl Deadlines {
    /// None at all.
    pub fn none() -> Self {
        Self { send: None, ..Self::default() }
    }

    /// Sets [`first_byte`](Self::first_byte).
    #[must_use]
    pub fn first_byte(mut self, limit: Duration) -> Self {
        self.first_byte = Some(limit);
        self
    }

    /// Sets [`receive`](Self::receive).
    #[must_use]
    pub fn receive(mut self, limit: Duration) -> Self {
        self.receive = Some(limit);
        self
    }

    /// Sets [`request`](Self::request).
    #[must_use]
    pub fn request(mut self, limit: Duration) -> Self {
        self.request = Some(limit);
        self
    }

    /// Sets [`idle`](Self::idle).
    #[must_use]
    pub fn idle(mut self, limit: Duration) -> Self {
        self.idle = Some(limit);
        self
    }

    /// Sets [`send`](Self::send).
    #[must_use]
    pub fn send(mut self, limit: Duration) -> Self {
        self.send = Some(limit);
        self
    }

    /// Sets [`life`](Self::life).
    #[must_use]
    pub fn life(mut self, limit: Duration) -> Self {
        self.life = Some(limit);
        self
    }

    pub(crate) fn check(&self) -> Result<(), StartError> {
        for (field, limit) in [
            ("deadlines.first_byte", self.first_byte),
            ("deadlines.receive", self.receive),
            ("deadlines.request", self.request),
            ("deadlines.idle", self.idle),
            ("deadlines.send", self.send),
            ("deadlines.life", self.life),
        ] {
            if let Some(limit) = limit {
                deadline_within(field, limit)?;
            }
        }
        Ok(())
    }

    /// The shortest of them.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        [self.first_byte, self.receive, self.request, self.idle, self.send, self.life]
            .into_iter()
            .flatten()
            .min()
    }
}

/// What a connection looks like at a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Something has been received since the last one.
    pub(crate) received: bool,
    /// A send has ended, or got on, since the last one.
    pub(crate) sent: bool,
    /// A send is under way.
    pub(crate) sending: bool,
    /// The handler waits for input.
    pub(crate) waiting: bool,
    /// A request has its permit.
    pub(crate) in_request: bool,
    /// One has begun since the last look.
    pub(crate) request_began: bool,
}

/// Which deadline has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// The peer does not read.
    Send,
    /// Any other: there is nothing that a polite close could lose.
    Other,
}

/// What a connection's deadlines have to remember: times since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pulse {
    has_received: bool,
    /// When it last received or sent something, or did not wait for input.
    active: Duration,
    /// When a send last got on.
    sent: Duration,
    /// When the request began.
    request: Duration,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { has_received: false, active: Duration::ZERO, sent: Duration::ZERO, request: Duration::ZERO }
    }

    /// Takes note of what is seen, and says whether a deadline has passed.
    pub(crate) fn beat(&mut self, deadlines: &Deadlines, look: Look, now: Duration) -> Option<Passed> {
        self.has_received |= look.received;
        if look.received || look.sent || look.sending || !look.waiting {
            self.active = now;
        }
        if look.sent || !look.sending {
            self.sent = now;
        }
        if look.request_began || !look.in_request {
            self.request = now;
        }
        let over = |since: Duration, limit: Option<Duration>| limit.is_some_and(|limit| now - since >= limit);
        if over(self.sent, deadlines.send) {
            return Some(Passed::Send);
        }
        let gap = if look.in_request { deadlines.receive } else { deadlines.idle };
        let passed = over(Duration::ZERO, deadlines.life)
            || (!self.has_received && over(Duration::ZERO, deadlines.first_byte))
            || over(self.active, gap)
            || over(self.request, deadlines.request);
        passed.then_some(Passed::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    const WAITING: Look = Look {
        received: false,
        sent: false,
        sending: false,
        waiting: true,
        in_request: false,
        request_began: false,
    };

    /// The second at which a connection that always looks the same, but for what `change` makes of it, is cut.
    fn cut_at(deadlines: Deadlines, change: impl Fn(u64, &mut Look)) -> Option<(u64, Passed)> {
        let mut pulse = Pulse::new();
        (1..100).find_map(|second| {
            let mut look = WAITING;
            change(second, &mut look);
            pulse.beat(&deadlines, look, seconds(second)).map(|passed| (second, passed))
        })
    }

    #[test]
    fn each_deadline_passes_when_it_is_due() {
        let none = Deadlines::none();
        let other = |second| Some((second, Passed::Other));
        assert_eq!(cut_at(none, |_, _| {}), None);
        assert_eq!(cut_at(none, |_, look| look.sending = true), None);
        assert_eq!(cut_at(none.life(seconds(9)), |_, look| look.received = true), other(9));
        assert_eq!(cut_at(none.first_byte(seconds(3)), |_, _| {}), other(3));
        assert_eq!(cut_at(none.first_byte(seconds(3)), |second, look| look.received = second == 2), None);
        assert_eq!(cut_at(none.idle(seconds(3)), |second, look| look.received = second == 2), other(5));
        assert_eq!(cut_at(none.idle(seconds(3)), |second, look| look.sent = second == 4), other(3));
    }

    #[test]
    fn a_handler_that_does_not_wait_for_input_is_not_idle() {
        let idle = Deadlines::none().idle(seconds(3));
        assert_eq!(cut_at(idle, |_, look| look.waiting = false), None);
        let busy_until_five = |second, look: &mut Look| look.waiting = second > 5;
        assert_eq!(cut_at(idle, busy_until_five), Some((8, Passed::Other)));
    }

    #[test]
    fn a_byte_every_second_satisfies_a_gap_and_not_a_request() {
        let drip = |_, look: &mut Look| (look.in_request, look.received) = (true, true);
        assert_eq!(cut_at(Deadlines::none().receive(seconds(2)), drip), None);
        assert_eq!(cut_at(Deadlines::none().request(seconds(7)), drip), Some((7, Passed::Other)));
        let next_at_five = |second, look: &mut Look| {
            (look.in_request, look.received, look.request_began) = (true, true, second == 5);
        };
        assert_eq!(cut_at(Deadlines::none().request(seconds(7)), next_at_five), Some((12, Passed::Other)));
        let silent = |_, look: &mut Look| look.in_request = true;
        assert_eq!(cut_at(Deadlines::none().receive(seconds(2)), silent), Some((2, Passed::Other)));
    }

    #[test]
    fn a_send_that_gets_on_is_not_stalled() {
        let send = Deadlines::none().send(seconds(4)).idle(seconds(1));
        let stalled = |_, look: &mut Look| look.sending = true;
        assert_eq!(cut_at(send, stalled), Some((4, Passed::Send)));
        let gets_on = |second, look: &mut Look| (look.sending, look.sent) = (true, second % 3 == 0);
        assert_eq!(cut_at(send, gets_on), None);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let refused = Deadlines::none().idle(Duration::ZERO).check().expect_err("refused").to_string();
        assert!(refused.starts_with("deadlines.idle is 0ns"), "{refused}");
        assert!(Deadlines::default().check().is_ok());
        assert_eq!(Deadlines::default().idle(seconds(3)).shortest(), Some(seconds(3)));
    }
}
