//! Servers under test as child processes of the lab: each is this executable
//! again, running `serve`.
//!
//! A child ends when its standard input does, so none outlives the lab, even if
//! the lab is killed. One that runs a command ends that first.

use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::accounting::{self, AccountingError, Counted, Counters, Usage};
use crate::serve::subject::Subject;
use crate::serve::{Ready, ServeOptions};

/// A running server; it is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    name: String,
    child: Child,
    ready: Ready,
    address: SocketAddr,
    counters: Counters,
    resident_bytes_at_start: u64,
}

impl Server {
    /// Starts a server and waits until it accepts connections.
    ///
    /// # Errors
    /// When it does not start; the error carries its reason.
    pub fn start(executable: &Path, name: &str, options: &ServeOptions) -> Result<Self, ServerError> {
        let mut child = Command::new(executable)
            .args(arguments(name, options))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| ServerError::Spawn { executable: executable.display().to_string(), source })?;
        match await_ready(&mut child) {
            Ok(Some((ready, address))) => Self::new(name, child, ready, address),
            Ok(None) => {
                let status = end(&mut child)?;
                Err(ServerError::Start {
                    name: name.to_owned(),
                    status,
                    reason: said(name, child.stderr.take()),
                })
            }
            Err(error) => {
                end(&mut child)?;
                Err(error.into())
            }
        }
    }

    fn new(name: &str, child: Child, ready: Ready, address: SocketAddr) -> Result<Self, ServerError> {
        let counters = Counters::attach(&[], &[]);
        let (name, resident_bytes_at_start) = (name.to_owned(), 0);
        let mut server = Self { name, child, ready, address, counters, resident_bytes_at_start };
        server.resident_bytes_at_start = server.usage()?.resident_bytes();
        Ok(server)
    }

    /// What it has used so far, read when it has nothing to do.
    ///
    /// # Errors
    /// When it has ended, or its figures cannot be read.
    pub fn usage(&mut self) -> Result<Usage, ServerError> {
        self.check()?;
        match Usage::when_idle(self.pid()) {
            Ok(usage) => Ok(usage.with(self.counters.read())),
            Err(error) => {
                self.check()?;
                Err(error.into())
            }
        }
    }

    /// Counts these from now on, where that is possible, and nothing else.
    ///
    /// # Errors
    /// When it has ended.
    pub fn count(&mut self, wanted: &[Counted]) -> Result<(), ServerError> {
        self.counters = Counters::attach(&accounting::threads(self.pid())?, wanted);
        Ok(())
    }

    /// The memory that it had before the first connection.
    #[must_use]
    pub const fn resident_bytes_at_start(&self) -> u64 {
        self.resident_bytes_at_start
    }

    /// What drives its sockets, as it says itself.
    #[must_use]
    pub fn driver(&self) -> &str {
        &self.ready.driver
    }

    /// Its process, or the first one of a command.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.ready.pid
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Makes sure that it still runs.
    ///
    /// # Errors
    /// When it has ended; the error carries what it said.
    pub fn check(&mut self) -> Result<(), ServerError> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(ServerError::Ended {
                name: self.name.clone(),
                status,
                reason: said(&self.name, self.child.stderr.take()),
            }),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if this fails.
        let _ = end(&mut self.child);
    }
}

/// Why there is no server to measure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The executable could not be run.
    #[error("cannot run {executable}: {source}")]
    Spawn {
        /// The executable.
        executable: String,
        /// Why.
        source: io::Error,
    },
    /// It did not become ready.
    #[error("server {name} did not start: {reason} ({status})")]
    Start {
        /// The server.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        reason: String,
    },
    /// It ended while it was measured.
    #[error("server {name} ended in the middle of the run: {reason} ({status})")]
    Ended {
        /// The server.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        reason: String,
    },
    /// What it has used could not be read.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    /// The pipes to it or the wait for it failed.
    #[error("cannot talk to a server: {0}")]
    Pipe(#[from] io::Error),
}

fn arguments(name: &str, options: &ServeOptions) -> Vec<String> {
    // What a server of ours is told besides its name comes last: it is meant for that one, and goes first.
    let (name, its_own) = match Subject::is_command(name) {
        true => (name, ""),
        false => Subject::split(name),
    };
    let mut arguments = vec!["serve".to_owned(), name.to_owned()];
    let mut option = |name: &str, value: Option<String>| {
        arguments.extend(value.map(|value| format!("--{name}={value}")));
    };
    option("addr", Some(options.address.to_string()));
    option("service", Some(options.service.to_string()));
    option("workers", Some(options.workers.to_string()));
    let cores = &options.cores;
    option("cores", (!cores.is_empty()).then(|| cores.to_string()));
    option("limit", options.limit.map(|limit| limit.to_string()));
    option("admission", options.admission.map(|admitted| admitted.to_string()));
    option("scope", Some(options.scope.to_string()));
    option("overflow", options.overflow.map(|policy| policy.to_string()));
    option("placement", options.placement.map(|policy| policy.to_string()));
    arguments.extend(its_own.split_whitespace().map(str::to_owned));
    arguments
}

/// Its ready line; nothing if it ends or says anything else instead.
fn await_ready(child: &mut Child) -> io::Result<Option<(Ready, SocketAddr)>> {
    let Some(output) = &mut child.stdout else {
        return Ok(None);
    };
    let patience = Timespec::try_from(READY_WITHIN).map_err(io::Error::other)?;
    let mut output_ready = [PollFd::new(output, PollFlags::IN)];
    poll(&mut output_ready, Some(&patience))?;
    if output_ready[0].revents().is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("not ready after {} seconds", READY_WITHIN.as_secs()),
        ));
    }
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let ready: Option<Ready> = serde_json::from_str(&line).ok();
    Ok(ready.and_then(|ready| {
        let address = *ready.addresses.first()?;
        Some((ready, address))
    }))
}

/// Lets the child end what it has started, and itself; kills it if it does not.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    drop(child.stdin.take());
    let deadline = Instant::now() + END_WITHIN;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(LOOK_AGAIN);
    }
    child.kill()?;
    child.wait()
}

/// What the ended child has left on its standard error, without the words that
/// our own error begins with.
fn said(name: &str, stderr: Option<ChildStderr>) -> String {
    let mut text = String::new();
    // Whatever could be read is better than nothing.
    let _ = stderr.map(|mut stderr| stderr.read_to_string(&mut text));
    let text = text.trim();
    let prefixes = ["error: ".to_owned(), format!("server `{name}`: "), format!("`{name}` stopped: ")];
    let text = prefixes.iter().fold(text, |text, prefix| text.strip_prefix(prefix).unwrap_or(text));
    if text.is_empty() { "it said nothing".to_owned() } else { text.to_owned() }
}

const READY_WITHIN: Duration = Duration::from_secs(10);
/// More than a command is given to end.
const END_WITHIN: Duration = Duration::from_secs(4);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_that_says_nothing_is_a_server_that_did_not_start() {
        let error = Server::start(Path::new("/bin/true"), "epoll", &ServeOptions::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("epoll did not start"), "{error}");
    }

    #[test]
    fn an_executable_that_is_not_there_is_named() {
        let error = Server::start(Path::new("/none"), "epoll", &ServeOptions::default());
        assert!(error.unwrap_err().to_string().contains("/none"));
    }
}
