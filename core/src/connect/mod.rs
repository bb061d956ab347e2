//! Opening connections: the deadline, the choice among several addresses, and errors that say what was tried.
//!
//! * [`Connector`]: what a user has.
//! * `race`: which address is tried when, after RFC 8305 ("happy eyeballs"); decides, and does nothing.
//! * `error`: [`ConnectError`].
//! * `lookup`: [`lookup`], names to addresses without blocking a core.
//!
//! What a runtime does to connect one socket to one address is in the seam: [`Socket::connect`] and
//! [`Conn::poll_connected`].

mod error;
mod lookup;
mod race;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::backend::{Backend, Conn, Detached, Socket};
use crate::outbound::Outbound;

pub use error::{Attempt, ConnectError};
pub use lookup::lookup;
use race::{Race, Step};

/// Opens connections on the core that it is used on.
#[derive(Debug, Clone)]
pub struct Connector {
    deadline: Duration,
    attempt_delay: Duration,
}

impl Default for Connector {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(5), attempt_delay: Duration::from_millis(250) }
    }
}

impl Connector {
    /// A connector with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long connecting may take, all addresses together. Default: 5 s. Left alone, Linux tries one address for two
    /// minutes.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How long an address is given before the next one is tried beside it. Default: 250 ms, as RFC 8305 advises; less
    /// than its minimum of 10 ms counts as 10 ms. An address that fails sooner is followed at once.
    #[must_use]
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = delay.max(race::ATTEMPT_DELAY_MIN);
        self
    }

    /// Connects to the first of these addresses that answers.
    ///
    /// They are tried in their order, but the families of IP addresses take turns. The next one is tried when one has
    /// failed or has not answered for a while; the first to answer is taken, and the others are closed.
    ///
    /// # Errors
    /// None has answered within the deadline, or there is none. The error names every address and what became of it.
    ///
    /// # Cancel safety
    /// Dropping the future closes everything that it has begun.
    pub async fn connect<B: Backend>(&self, addresses: &[Address]) -> Result<Outbound<B>, ConnectError> {
        let now = B::now();
        let mut attempts = Attempts::<B> {
            addresses,
            race: Race::new(addresses, now, self.deadline, self.attempt_delay),
            running: Vec::new(),
            failures: Vec::new(),
            timer: None,
        };
        match poll_fn(|cx| attempts.poll(cx)).await {
            Some(connected) => Ok(connected),
            None => Err(attempts.into_error(self.deadline)),
        }
    }
}

type Timer = Pin<Box<dyn Future<Output = ()>>>;

/// All that goes on to make one connection.
struct Attempts<'a, B: Backend> {
    addresses: &'a [Address],
    race: Race,
    running: Vec<Running<B>>,
    failures: Vec<(usize, io::Error)>,
    /// When the race is looked at again, and what wakes us then. Boxed: a connection that is made at once has none.
    timer: Option<(Instant, Timer)>,
}

/// An attempt under way. Dropping it closes it.
struct Running<B: Backend> {
    index: usize,
    connection: Outbound<B>,
}

impl<B: Backend> Attempts<'_, B> {
    /// The connection that was made first; `None` when none can be.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Outbound<B>>> {
        loop {
            if let Some(winner) = self.poll_running(cx) {
                return Poll::Ready(Some(winner));
            }
            match self.race.step(B::now()) {
                Step::Begin(index) => self.begin(index),
                Step::Wait(until) => ready!(self.poll_timer(until, cx)),
                Step::Over => return Poll::Ready(None),
            }
        }
    }

    fn poll_running(&mut self, cx: &mut Context<'_>) -> Option<Outbound<B>> {
        let mut position = 0;
        while let Some(attempt) = self.running.get_mut(position) {
            match attempt.connection.poll_connected(cx) {
                Poll::Pending => position += 1,
                Poll::Ready(Ok(())) => return Some(self.running.swap_remove(position).connection),
                Poll::Ready(Err(error)) => {
                    let failed = self.running.swap_remove(position);
                    self.failed(failed.index, error);
                }
            }
        }
        None
    }

    fn begin(&mut self, index: usize) {
        let address = &self.addresses[index];
        let begun = B::Socket::connect(address).and_then(|socket| B::Conn::attach(Detached::from(socket)));
        match begun {
            Ok(io) => {
                self.running.push(Running { index, connection: Outbound::new(io, address.clone()) });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.race.busy(index, B::now()),
            Err(error) => self.failed(index, error),
        }
    }

    fn failed(&mut self, index: usize, error: io::Error) {
        self.race.failed(B::now());
        self.failures.push((index, error));
    }

    fn poll_timer(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if self.timer.as_ref().is_none_or(|(at, _)| *at != until) {
            let duration = until.saturating_duration_since(B::now());
            self.timer = Some((until, Box::pin(B::sleep(duration))));
        }
        let Some((_, timer)) = &mut self.timer else { return Poll::Pending };
        ready!(timer.as_mut().poll(cx));
        self.timer = None;
        Poll::Ready(())
    }

    fn into_error(mut self, deadline: Duration) -> ConnectError {
        self.failures.extend(self.running.drain(..).map(|it| (it.index, io::ErrorKind::TimedOut.into())));
        self.failures.extend(self.race.untried().map(|index| (index, io::ErrorKind::TimedOut.into())));
        self.failures.sort_by_key(|(index, _)| *index);
        let attempt = |(index, error): (usize, _)| Attempt { address: self.addresses[index].clone(), error };
        ConnectError { attempts: self.failures.into_iter().map(attempt).collect(), deadline }
    }
}
