//! The server under test, as a process.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Nothing here takes a hundredth of it; it only keeps a lost byte from becoming a test without an end.
const PATIENCE: Duration = Duration::from_secs(30);

/// The example, which `cargo test` builds beside this test.
pub(crate) fn example() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let built = this.parent().unwrap().parent().unwrap().join("examples/echo");
    assert!(built.exists(), "{} is not built: run cargo test, or cargo build --examples", built.display());
    built
}

/// The command line of the example on one backend, on a free port.
pub(crate) fn command(backend: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(example());
    command.args(["--addr", "127.0.0.1:0", "--backend", backend]).args(arguments);
    command
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(backend: &str, arguments: &[&str]) -> Self {
        Self::spawn(command(backend, arguments))
    }

    /// Starts a server by a command of the caller's, and waits until it serves.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.env("RUST_LOG", "warn");
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut headline = String::new();
        stdout.read_line(&mut headline).unwrap();
        let address = headline.trim().rsplit(' ').next().unwrap_or_default();
        let address = address.parse().unwrap_or_else(|_| panic!("no address in {headline:?}"));
        Self { child, stdout, address }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.address).unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Asks the server to end, and gives its exit status and the rest of what it printed.
    pub(crate) fn stop(self) -> (ExitStatus, String) {
        self.signal(Signal::TERM);
        self.wait()
    }

    /// Waits for the server to end.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }

    /// Stops the server, checks that it ended in good order, and gives its report.
    pub(crate) fn stop_cleanly(self) -> Report {
        let (status, rest) = self.stop();
        assert!(status.success(), "{status}: {rest}");
        assert!(!rest.contains("stuck") && !rest.contains("panicked"), "{rest}");
        Report(rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Only a failed case leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server printed at its end: a table with a row for each worker.
pub(crate) struct Report(String);

impl Report {
    /// A column of the table, summed over the workers.
    pub(crate) fn column(&self, name: &str) -> u64 {
        let words = |line: &'_ str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = self.0.lines().map(words).collect();
        let is_head = |line: &Vec<String>| line.first().is_some_and(|word| word == "worker");
        // The last table is the final one.
        let head = lines.iter().rposition(is_head).unwrap_or_else(|| panic!("no table in {}", self.0));
        let index = lines[head].iter().position(|word| word == name).unwrap();
        let table = lines[head + 1..].iter();
        table.take_while(|row| !row.is_empty()).map(|row| row[index].parse::<u64>().unwrap()).sum()
    }
}

/// A socket that fails, rather than waits for ever.
pub(crate) fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Bytes that do not repeat in any period a bug might have.
pub(crate) fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}
