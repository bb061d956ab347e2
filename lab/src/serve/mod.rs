//! The servers under test, and `corepool-lab serve`, which runs one of them in
//! a process of its own.
//!
//! [`registry`] lists them by name, and [`subject`] is what a user may name
//! instead, a `command` included; one file per server has its loop;
//! `workers` gives the hand-written ones their pinned threads and listeners;
//! `session` is what all of them do with what they receive, and `wire` how
//! the runtimes by hand do it; [`admitted`], [`served_by`] and [`when_full`] name what
//! sets the framework's limit, who serves, and what happens beyond it. Starting such a
//! process from the lab and ending it is [`crate::servers`].
//!
//! A process that serves says so in one line of JSON on its standard output,
//! and ends as soon as its standard input does, so that it never outlives the
//! lab, however the lab ends.

pub mod admitted;
mod command;
mod compio_raw;
mod epoll;
mod framework;
mod handlers;
mod heavy;
mod monoio_raw;
pub mod registry;
mod ring;
pub mod served_by;
pub(crate) mod session;
pub mod subject;
mod tokio_raw;
mod uring;
pub mod when_full;
mod wire;
mod workers;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{self, Sender};

use corepool::Scope;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use self::admitted::Admitted;
use self::command::Running;
use self::served_by::ServedBy;
use self::subject::Subject;
use self::when_full::WhenFull;
use crate::cores::Cores;
use crate::workload::Service;

/// The receive buffer of every server, in bytes: more than 16 KiB, so that a
/// message of 16 KiB is a short read, which tells an epoll server that the
/// socket is empty and saves it a `recv` that only says so.
pub const RECEIVE_BUFFER_BYTES: usize = 20 * 1024;

/// What a server under test is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// What it does with what it receives.
    pub service: Service,
    /// How many workers it has: one thread, runtime and listener each.
    pub workers: usize,
    /// The cores its workers are pinned to, in turn; not pinned if empty.
    pub cores: Cores,
    /// How many connections a worker of the framework serves at a time; the
    /// servers by hand know no limit.
    pub limit: Option<u32>,
    /// What sets that limit, if it is no number.
    pub admission: Option<Admitted>,
    /// What a permit of the framework is for. With [`Scope::Request`] its handlers take
    /// one for whatever they receive at once; the default is a connection.
    pub scope: Scope,
    /// Where the framework puts a new connection; the servers by hand leave it
    /// where it was accepted.
    pub placement: Option<ServedBy>,
    /// What the framework does with a connection when every worker is full; the
    /// servers by hand are never full.
    pub overflow: Option<WhenFull>,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            service: Service::Echo,
            workers: 1,
            cores: Cores::from_iter([]),
            limit: None,
            admission: None,
            scope: Scope::Connection,
            placement: None,
            overflow: None,
        }
    }
}

/// The line that a serving process prints when it accepts connections.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ready {
    /// Always true.
    pub ready: bool,
    /// The server's name in the [`registry`], or the command line.
    pub name: String,
    /// What drives its sockets: `epoll`, `io_uring`, or `unknown` for a command.
    pub driver: String,
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    /// Its process, or the first one of a command.
    pub pid: u32,
}

/// Why a serving process ends.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Its standard input has ended, as it does when the lab has.
    InputEnded,
    /// SIGTERM or SIGINT.
    Signal,
    /// A worker gave up.
    Failed(String),
}

/// Runs the named server in this process until the standard input ends or a
/// signal comes; prints [`Ready`] when it accepts connections.
///
/// It returns with the workers still serving: leave the process then.
///
/// # Errors
/// When the server is unknown, cannot start, or stops by itself.
pub fn serve(name: &str, options: &ServeOptions) -> Result<(), ServeError> {
    let subject: Subject = name.parse()?;
    let (stop, stopped) = mpsc::channel();
    watch_signals(stop.clone())?;
    let refused = |reason| ServeError::Start { name: name.to_owned(), reason };
    // It ends when this function does, however that ends.
    let command = Subject::is_command(name).then(|| Running::start(name, options, &stop));
    let command = command.transpose().map_err(refused)?;
    let (addresses, pid) = match &command {
        Some(command) => (vec![command.address], command.pid()),
        None => ((registry::find(name)?.start)(options, &stop).map_err(refused)?, std::process::id()),
    };
    announce(&Ready {
        ready: true,
        name: name.to_owned(),
        driver: subject.driver.to_owned(),
        addresses,
        pid,
    })?;
    watch_input(stop)?;
    match stopped.recv() {
        Ok(Stop::Failed(reason)) => Err(ServeError::Failed { name: name.to_owned(), reason }),
        Ok(Stop::InputEnded | Stop::Signal) | Err(_) => Ok(()),
    }
}

/// Why a server could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No such server.
    #[error(transparent)]
    Unknown(#[from] registry::UnknownSystem),
    /// It did not start.
    #[error("server `{name}`: {reason}")]
    Start {
        /// The server.
        name: String,
        /// What happened.
        reason: io::Error,
    },
    /// It started, and stopped by itself.
    #[error("`{name}` stopped: {reason}")]
    Failed {
        /// The server.
        name: String,
        /// What happened.
        reason: String,
    },
    /// The process itself: its output, its signals, its threads.
    #[error("cannot run a server in this process: {0}")]
    Process(#[from] io::Error),
}

fn announce(ready: &Ready) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(ready)?)?;
    output.flush()
}

fn watch_signals(stop: Sender<Stop>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // Nobody listens any more when the process is already ending.
        let _ = signals.forever().next().map(|_| stop.send(Stop::Signal));
    })?;
    Ok(())
}

fn watch_input(stop: Sender<Stop>) -> io::Result<()> {
    std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut ignored = [0; 256];
        while let Ok(1..) = io::stdin().read(&mut ignored) {}
        // Nobody listens any more when the process is already ending.
        let _ = stop.send(Stop::InputEnded);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_start_says_so_once() {
        let reason = io::Error::other("the monoio backend cannot start: no ring");
        let error = ServeError::Start { name: "monoio".to_owned(), reason };
        assert_eq!(error.to_string(), "server `monoio`: the monoio backend cannot start: no ring");
    }
}
