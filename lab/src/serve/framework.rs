//! `tokio`, `compio`, `monoio`: the framework with one and the same of the `handlers`, on the
//! backend of that name, and with other knobs of a runtime.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;

use corepool::backend::Compio;
use corepool::{Backend, Config, Error, Server};
use corepool_core::Server as Running;

use super::handlers::{Echo, Scripted};
use super::session::Script;
use super::{ServeOptions, Stop};

/// The knobs of a compio backend.
type CompioConfig = <Compio as Backend>::Config;

/// Starts the framework on `backend`, which must run on `driver`.
pub(super) fn start(
    options: &ServeOptions,
    stop: &Sender<Stop>,
    backend: &'static str,
    driver: &str,
) -> io::Result<Vec<SocketAddr>> {
    let server = Server::new().config(config(options)).backend(backend);
    let (script, scope) = (Script::new(options.service), options.scope);
    let started = match script.is_echo() {
        true => server.start(move |_worker| Echo(scope)),
        false => server.start(move |_worker| Scripted(script, scope)),
    };
    watch(started, stop, driver)
}

/// Starts the framework on compio with other knobs than the default.
pub(super) fn start_compio(
    options: &ServeOptions,
    stop: &Sender<Stop>,
    change: fn(&mut CompioConfig),
) -> io::Result<Vec<SocketAddr>> {
    let server = Server::new().config(config(options));
    let (script, scope) = (Script::new(options.service), options.scope);
    let mut runtime = CompioConfig::default();
    change(&mut runtime);
    let started = match script.is_echo() {
        true => server.start_on::<Compio, _>(&runtime, move |_worker| Echo(scope)),
        false => server.start_on::<Compio, _>(&runtime, move |_worker| Scripted(script, scope)),
    };
    watch(started, stop, "io_uring")
}

/// The seed's three settings of compio's ring.
pub(super) const DEFER_TASKRUN: fn(&mut CompioConfig) = |config| {
    (config.defer_taskrun, config.coop_taskrun) = (true, false);
};
pub(super) const COOP_TASKRUN: fn(&mut CompioConfig) = |config| {
    (config.defer_taskrun, config.coop_taskrun) = (false, true);
};
pub(super) const NO_COOP_TASKRUN: fn(&mut CompioConfig) = |config| {
    (config.defer_taskrun, config.coop_taskrun) = (false, false);
};

fn watch(started: Result<Running, Error>, stop: &Sender<Stop>, driver: &str) -> io::Result<Vec<SocketAddr>> {
    let server = started.map_err(io::Error::other)?;
    let stats = server.stats();
    if stats.driver != driver {
        return Err(io::Error::other(format!("it runs on {} instead of {driver}", stats.driver)));
    }
    let stop = stop.clone();
    thread::Builder::new().name("framework".to_owned()).spawn(move || {
        let report = server.join();
        // Nobody listens any more when the process is already ending.
        let _ = stop.send(Stop::Failed(format!("it ended by itself: {report}")));
    })?;
    Ok(stats.addresses)
}

fn config(options: &ServeOptions) -> Config {
    let mut config = Config::new().listen(options.address);
    config = match options.cores.is_empty() {
        true => config.workers(options.workers).pin(false),
        false => config.cores(
            (0..options.workers).filter_map(|worker| options.cores.wrapping(worker)).collect::<Vec<_>>(),
        ),
    };
    config = options.limit.into_iter().fold(config.scope(options.scope), Config::limit);
    config = options.admission.into_iter().fold(config, |config, admitted| admitted.apply(config));
    config = options.placement.into_iter().fold(config, |config, served_by| served_by.apply(config));
    options.overflow.into_iter().fold(config, |config, policy| policy.apply(config))
}
