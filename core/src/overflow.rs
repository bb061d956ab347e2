//! What becomes of a connection, or a request, for which there is no permit.
//!
//! [`Queue`] is the default. [`Reject`], [`Pause`] and [`ServeAnyway`] are the others that ship; a policy of your
//! own implements [`Overflow`].

use std::fmt::Debug;
use std::time::Duration;

use crate::check::{within, within_a_day};
use crate::error::StartError;

/// Decides what becomes of whoever finds no permit.
///
/// It is asked on the worker that accepted the connection, only when there is no room anywhere. It must not
/// block.
pub trait Overflow: Debug + Send + Sync + 'static {
    /// Checks itself, before anything starts.
    ///
    /// # Errors
    /// A value is out of range: a [`StartError::Config`].
    fn check(&self) -> Result<(), StartError> {
        Ok(())
    }

    /// How many connections may wait, in the whole server.
    fn queue_max(&self) -> u32 {
        0
    }

    /// How those are told that are not served.
    fn rejection(&self) -> Reject {
        Reject::Close
    }

    /// There is no room.
    fn when_full(&self, situation: &Situation) -> Verdict;

    /// Whether who has waited in vain until the deadline is served all the same, over the limit.
    fn serves_expired(&self) -> bool {
        false
    }
}

/// What a policy decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Situation {
    /// What there is no permit for.
    pub subject: Subject,
    /// The worker that asks.
    pub worker: usize,
    /// How many permits of this worker are taken.
    pub taken: u32,
}

impl Situation {
    /// A situation, for tests of a policy.
    pub fn new(subject: Subject, worker: usize, taken: u32) -> Self {
        Self { subject, worker, taken }
    }
}

/// What is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "one for each scope")]
pub enum Subject {
    /// A connection that has just been accepted.
    Connection,
    /// A request on a connection of this worker.
    Request,
}

/// What a policy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It waits in the queue, at most so long. When the queue is full, it is rejected.
    Wait(Duration),
    /// It is not served.
    Reject,
    /// It is served over the limit, while the worker has fewer than `max_connections` sockets.
    Serve,
    /// It waits without a deadline and outside of the queue, and its worker accepts nothing more meanwhile.
    Pause,
}

/// How those are told that are not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Reject {
    /// The socket is closed: the client sees the end of the stream, or a reset if it has sent something.
    #[default]
    Close,
    /// The connection is reset: cheap, and leaves no `TIME_WAIT` behind.
    Reset,
    /// The handler's [`refuse`](crate::Handler::refuse) sends a reply, which always arrives. At most
    /// 256 such replies are under way on a worker; beyond that the socket is closed.
    Reply,
}

/// Not served, at once.
impl Overflow for Reject {
    fn rejection(&self) -> Self {
        *self
    }

    fn when_full(&self, _situation: &Situation) -> Verdict {
        Verdict::Reject
    }
}

/// A bounded queue, first in, first out. The default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Queue {
    /// How many connections may wait, in the whole server, 1 to 1,048,576. Requests wait with their connections,
    /// and need no bound of their own.
    pub limit: u32,
    /// How long one may wait, at most a day.
    pub deadline: Duration,
    /// What happens at the deadline, and when the queue is full.
    pub then: Then,
}

/// What follows on a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Then {
    /// Not served.
    Reject(Reject),
    /// Served over the limit after the deadline, by the worker that accepted it. A newcomer that finds the
    /// queue full is served so at once.
    ServeAnyway,
}

impl Default for Queue {
    fn default() -> Self {
        Self { limit: 1024, deadline: Duration::from_secs(5), then: Then::Reject(Reject::Close) }
    }
}

impl Queue {
    /// A queue for so many connections, who wait at most so long.
    pub fn new(limit: u32, deadline: Duration) -> Self {
        Self { limit, deadline, ..Self::default() }
    }

    /// What follows on it. Default: `Reject(Close)`.
    #[must_use]
    pub fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }
}

impl Overflow for Queue {
    fn check(&self) -> Result<(), StartError> {
        within("overflow.limit", self.limit, 1, 1 << 20)?;
        within_a_day("overflow.deadline", self.deadline)
    }

    fn queue_max(&self) -> u32 {
        self.limit
    }

    fn rejection(&self) -> Reject {
        match self.then {
            Then::Reject(reject) => reject,
            Then::ServeAnyway => Reject::Close,
        }
    }

    fn when_full(&self, _situation: &Situation) -> Verdict {
        Verdict::Wait(self.deadline)
    }

    fn serves_expired(&self) -> bool {
        self.then == Then::ServeAnyway
    }
}

/// A worker accepts nothing more while there is no room; the kernel queues, up to the backlog, and then drops.
/// The one connection that was accepted last waits for a permit of any worker. A request waits without a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to say about it")]
pub struct Pause;

impl Overflow for Pause {
    fn when_full(&self, _situation: &Situation) -> Verdict {
        Verdict::Pause
    }
}

/// Served over the limit, up to `max_connections`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to say about it")]
pub struct ServeAnyway;

impl Overflow for ServeAnyway {
    fn when_full(&self, _situation: &Situation) -> Verdict {
        Verdict::Serve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITUATION: Situation = Situation { subject: Subject::Connection, worker: 0, taken: 1 };

    #[test]
    fn each_policy_is_what_it_says() {
        let wait = Duration::from_secs(3);
        let queue = Queue::new(7, wait);
        let policies: [(&dyn Overflow, Verdict, u32, Reject, bool); 6] = [
            (&queue, Verdict::Wait(wait), 7, Reject::Close, false),
            (&queue.then(Then::Reject(Reject::Reply)), Verdict::Wait(wait), 7, Reject::Reply, false),
            (&queue.then(Then::ServeAnyway), Verdict::Wait(wait), 7, Reject::Close, true),
            (&Reject::Reset, Verdict::Reject, 0, Reject::Reset, false),
            (&Pause, Verdict::Pause, 0, Reject::Close, false),
            (&ServeAnyway, Verdict::Serve, 0, Reject::Close, false),
        ];
        for (policy, verdict, queue_max, rejection, serves_expired) in policies {
            assert_eq!(policy.when_full(&SITUATION), verdict, "{policy:?}");
            assert_eq!(policy.queue_max(), queue_max, "{policy:?}");
            assert_eq!(policy.rejection(), rejection, "{policy:?}");
            assert_eq!(policy.serves_expired(), serves_expired, "{policy:?}");
            assert!(policy.check().is_ok(), "{policy:?}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        let refused = |queue: Queue| queue.check().expect_err("refused").to_string();
        let second = Duration::from_secs(1);
        assert!(refused(Queue::new(0, second)).starts_with("overflow.limit is 0"));
        assert!(refused(Queue::new((1 << 20) + 1, second)).starts_with("overflow.limit is 1048577"));
        assert!(refused(Queue::new(1, 90_000 * second)).starts_with("overflow.deadline is 90000s"));
        assert!(Queue::new(1 << 20, second).check().is_ok());
    }

    #[test]
    fn a_situation_is_what_it_is_made_of() {
        assert_eq!(Situation::new(Subject::Connection, 0, 1), SITUATION);
    }
}
