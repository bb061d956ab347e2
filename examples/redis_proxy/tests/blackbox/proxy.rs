//! The proxy under test, as a process.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::On;
use crate::client::Client;

/// A running proxy.
pub(crate) struct Proxy {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// The sockets of its clients, to say goodbye with.
    clients: RefCell<Vec<TcpStream>>,
}

impl Proxy {
    pub(crate) fn start(on: On, upstream: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_redis_proxy"))
            .args([
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                upstream,
                "--backend",
                on.backend,
                "--mode",
                on.mode,
            ])
            .args(["--workers", "1"])
            .args(arguments)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut headline = String::new();
        stdout.read_line(&mut headline).unwrap();
        let address = headline.trim().rsplit(' ').next().unwrap_or_default();
        let address = address.parse().unwrap_or_else(|_| panic!("no address in {headline:?}"));
        Self { child, stdout, address, clients: RefCell::default() }
    }

    pub(crate) fn connect(&self) -> Client {
        let client = Client::connect(self.address);
        self.clients.borrow_mut().push(client.socket().try_clone().unwrap());
        client
    }

    /// How much memory it has in use, in bytes.
    pub(crate) fn resident(&self) -> usize {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
    }

    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
    }

    /// Waits for its end, which must be in good order, and gives what it counted.
    pub(crate) fn wait(mut self) -> Totals {
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        assert!(!said.contains("stuck") && !said.contains("panicked"), "{said}");
        Totals(said)
    }

    /// Ends it, after its clients have left.
    pub(crate) fn stop(self) -> Totals {
        for client in self.clients.take() {
            // It may have left already.
            let _ = client.shutdown(Shutdown::Both);
        }
        self.terminate();
        self.wait()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Only a failed case leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a proxy counted.
#[derive(Debug)]
pub(crate) struct Totals(String);

impl Totals {
    pub(crate) fn of(&self, name: &str) -> u64 {
        let prefix = format!("{name}=");
        let found = self.0.split_whitespace().find_map(|word| word.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.0)).parse().unwrap()
    }
}
