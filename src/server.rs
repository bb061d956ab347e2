//! A server on a backend that is chosen by name.

use std::io;
use std::time::Duration;

use corepool_core::handoff::Handoff;
use corepool_core::limit::Admission;
use corepool_core::overflow::Overflow;
use corepool_core::{
    Backend, Config, Deadlines, Handler, PerClient, Placement, Report, Scope, StartError, WorkerInfo,
};

use crate::backends::{self, AnyHandler};
use crate::choice::{Choice, ChoiceError, VARIABLE};

/// A server to be started. Methods chain; mistakes are reported when it starts.
///
/// Every method but [`backend`](Self::backend) is that of [`Config`], which says what it means and its default.
#[derive(Debug, Clone, Default)]
pub struct Server {
    config: Config,
    choice: Choice,
}

/// Why a server did not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No backend can be chosen.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Signals cannot be listened to.
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
}

impl Server {
    /// A server with the defaults of [`Config`], on the only backend that is compiled in.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which backend runs: a name, or a [`Choice`].
    #[must_use]
    pub fn backend(mut self, choice: impl Into<Choice>) -> Self {
        self.choice = choice.into();
        self
    }

    /// Takes a whole configuration, instead of what was set so far.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// As [`Config::listen`].
    #[must_use]
    pub fn listen(self, address: impl ToString) -> Self {
        self.with(|config| config.listen(address))
    }

    /// As [`Config::workers`].
    #[must_use]
    pub fn workers(self, count: usize) -> Self {
        self.with(|config| config.workers(count))
    }

    /// As [`Config::cores`].
    #[must_use]
    pub fn cores(self, cores: impl Into<Vec<usize>>) -> Self {
        self.with(|config| config.cores(cores))
    }

    /// As [`Config::limit`].
    #[must_use]
    pub fn limit(self, connections: u32) -> Self {
        self.with(|config| config.limit(connections))
    }

    /// As [`Config::scope`].
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        self.with(|config| config.scope(scope))
    }

    /// As [`Config::admission`].
    #[must_use]
    pub fn admission(self, admission: impl Admission) -> Self {
        self.with(|config| config.admission(admission))
    }

    /// As [`Config::max_connections`].
    #[must_use]
    pub fn max_connections(self, connections: u32) -> Self {
        self.with(|config| config.max_connections(connections))
    }

    /// As [`Config::per_client`].
    #[must_use]
    pub fn per_client(self, bound: PerClient) -> Self {
        self.with(|config| config.per_client(bound))
    }

    /// As [`Config::deadlines`].
    #[must_use]
    pub fn deadlines(self, deadlines: Deadlines) -> Self {
        self.with(|config| config.deadlines(deadlines))
    }

    /// As [`Config::handoff`].
    #[must_use]
    pub fn handoff(self, handoff: impl Handoff) -> Self {
        self.with(|config| config.handoff(handoff))
    }

    /// As [`Config::placement`].
    #[must_use]
    pub fn placement(self, placement: Placement) -> Self {
        self.with(|config| config.placement(placement))
    }

    /// As [`Config::overflow`].
    #[must_use]
    pub fn overflow(self, overflow: impl Overflow) -> Self {
        self.with(|config| config.overflow(overflow))
    }

    /// As [`Config::grace`].
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        self.with(|config| config.grace(grace))
    }

    /// Starts the server; it serves when this returns. `factory` makes each worker's handler, on its thread.
    ///
    /// # Errors
    /// No backend can be chosen, or the server cannot start.
    pub fn start<H: AnyHandler>(
        self,
        factory: impl Fn(&WorkerInfo) -> H + Clone + Send + Sync + 'static,
    ) -> Result<corepool_core::Server, Error> {
        let starts = backends::starts();
        let mut refused = ChoiceError::NoneCompiled.into();
        for name in self.choice.settle(std::env::var(VARIABLE), backends::NAMES)? {
            for (_, start) in starts.iter().filter(|(known, _)| *known == name) {
                match start(&self.config, factory.clone()) {
                    Err(StartError::Unavailable(error)) => {
                        tracing::warn!(backend = name, %error, "cannot start here");
                        refused = Error::Start(error.into());
                    }
                    started => return Ok(started?),
                }
            }
        }
        Err(refused)
    }

    /// Starts the server on a backend that is chosen by type, with the knobs of its runtime.
    ///
    /// # Errors
    /// The server cannot start.
    pub fn start_on<B: Backend, H: Handler<B>>(
        self,
        runtime: &B::Config,
        factory: impl Fn(&WorkerInfo) -> H + Send + Sync + 'static,
    ) -> Result<corepool_core::Server, Error> {
        Ok(corepool_core::start::<B, H>(&self.config, runtime, factory)?)
    }

    /// Starts the server and serves until SIGTERM or SIGINT, then drains; a second signal ends everything at
    /// once. The report says what became of every connection.
    ///
    /// # Errors
    /// As [`start`](Self::start); or signals cannot be listened to.
    pub fn run_until_signal<H: AnyHandler>(
        self,
        factory: impl Fn(&WorkerInfo) -> H + Clone + Send + Sync + 'static,
    ) -> Result<Report, Error> {
        self.start(factory)?.run_until_signal().map_err(Error::Signals)
    }

    fn with(mut self, change: impl FnOnce(Config) -> Config) -> Self {
        self.config = change(self.config);
        self
    }
}
