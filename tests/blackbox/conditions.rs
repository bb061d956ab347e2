//! Conditions under which a server is started: this test's own executable, started again, makes them for itself
//! and then becomes the server.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use corepool::{Backend, Config, Connection, Handler, Server};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

const VARIABLE: &str = "COREPOOL_TEST_CONDITION";

/// What is made before the server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    /// `io_uring` is denied by a seccomp filter, as in a container.
    NoRings,
    /// The server believes that it may open more connections than there are descriptors for.
    Overcommitted,
}

/// A command that runs the server under a condition, with the arguments that `Server::start` would give.
pub(crate) fn command(condition: Condition, backend: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(VARIABLE, format!("{condition:?}")).env("COREPOOL_BACKEND", backend);
    command
}

/// In the process that `command` starts: makes the condition and runs the server.
pub(crate) fn run_if_asked() -> Option<ExitCode> {
    let condition = std::env::var(VARIABLE).ok()?;
    if condition == format!("{:?}", Condition::NoRings) {
        deny_rings();
        let error = Command::new(crate::server::example()).args(["--addr", "127.0.0.1:0"]).exec();
        panic!("cannot become the example: {error}");
    }
    assert_eq!(condition, format!("{:?}", Condition::Overcommitted));
    overcommitted();
    Some(ExitCode::SUCCESS)
}

fn deny_rings() {
    const IO_URING_SETUP: i64 = 425; // the same number on every architecture
    let rules = BTreeMap::from([(IO_URING_SETUP, Vec::new())]);
    let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let denied = SeccompAction::Errno(1); // EPERM
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
}

struct Echo;

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut conn: Connection<B>) -> std::io::Result<()> {
        while let Some(chunk) = conn.recv().await? {
            conn.send(chunk).await?;
        }
        Ok(())
    }
}

fn overcommitted() {
    let config = Config::new().listen("127.0.0.1:0").workers(1).max_connections(100_000);
    let mut server = Server::new().config(config).start(|_worker| Echo).unwrap();
    server.end_on_signal().unwrap();
    println!("{}", server.stats());
    println!("{}", server.join());
}
