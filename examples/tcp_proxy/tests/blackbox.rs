//! The built `tcp_proxy`, spoken to from outside, on every backend that is compiled in.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "test code")]

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};

/// Nothing here takes a hundredth of it; it only keeps a lost byte from becoming a test without an end.
const PATIENCE: Duration = Duration::from_secs(30);

type Case = fn(&'static str);

const CASES: &[(&str, Case)] = &[
    ("bytes_pass_both_ways_at_once", bytes_pass_both_ways_at_once),
    ("either_side_may_finish_first", either_side_may_finish_first),
    ("a_slow_reader_slows_its_writer_down", a_slow_reader_slows_its_writer_down),
    ("upstreams_take_turns_and_dead_ones_are_passed_over", upstreams_take_turns),
    ("without_an_upstream_the_client_is_closed", without_an_upstream_the_client_is_closed),
    ("an_upstream_may_be_a_unix_socket", an_upstream_may_be_a_unix_socket),
    ("what_is_idle_for_too_long_is_closed", what_is_idle_for_too_long_is_closed),
    ("a_reset_ends_the_other_side", a_reset_ends_the_other_side),
];

fn main() -> ExitCode {
    let trial = |backend: &'static str, (name, case): (&str, Case)| {
        Trial::test(format!("{backend}::{name}"), move || {
            case(backend);
            Ok(())
        })
    };
    let backends = corepool::compiled_in().iter();
    let trials = backends.flat_map(|backend| CASES.iter().map(move |&case| trial(backend, case))).collect();
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A running proxy.
struct Proxy {
    child: Child,
    stdout: Cell<Option<BufReader<ChildStdout>>>,
    address: SocketAddr,
}

impl Proxy {
    fn start(backend: &str, upstreams: &[String], arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcp_proxy"));
        command.args(["--listen", "127.0.0.1:0", "--workers", "1", "--backend", backend]).args(arguments);
        for upstream in upstreams {
            command.args(["--upstream", upstream]);
        }
        let mut child = command.env("RUST_LOG", "error").stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut headline = String::new();
        stdout.read_line(&mut headline).unwrap();
        let address = headline.trim().rsplit(' ').next().unwrap_or_default();
        let address = address.parse().unwrap_or_else(|_| panic!("no address in {headline:?}"));
        Self { child, stdout: Cell::new(Some(stdout)), address }
    }

    fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.address).unwrap())
    }

    /// Ends it, and gives one of the numbers that it prints.
    fn stop(mut self, name: &str) -> u64 {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let mut said = String::new();
        self.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        let prefix = format!("{name}=");
        let found = said.split_whitespace().find_map(|word| word.strip_prefix(&prefix));
        found.unwrap_or_else(|| panic!("no {name} in {said}")).parse().unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Only a failed case leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Bytes that do not repeat in any period a bug might have.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}

fn rest(stream: &mut impl Read) -> Vec<u8> {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    rest
}

/// Sends all of it from another thread, and finishes.
fn send(stream: &TcpStream, bytes: Vec<u8>) -> thread::JoinHandle<()> {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || {
        stream.write_all(&bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
    })
}

fn bytes_pass_both_ways_at_once(backend: &str) {
    let (listener, address) = listen();
    let proxy = Proxy::start(backend, &[address], &[]);
    let (forth, back) = (bytes(5_000_000, 1), bytes(3_000_000, 2));
    let mut client = proxy.connect();
    let mut upstream = patient(listener.accept().unwrap().0);
    let sending = [send(&client, forth.clone()), send(&upstream, back.clone())];
    let receiving = thread::spawn(move || rest(&mut upstream));
    assert!(rest(&mut client) == back);
    assert!(receiving.join().unwrap() == forth);
    sending.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(proxy.stop("relayed"), 1);
}

fn either_side_may_finish_first(backend: &str) {
    let (listener, address) = listen();
    let proxy = Proxy::start(backend, &[address], &[]);
    for client_first in [true, false] {
        let client = proxy.connect();
        let upstream = patient(listener.accept().unwrap().0);
        let (mut first, mut last) = if client_first { (client, upstream) } else { (upstream, client) };
        first.write_all(b"all I have to say").unwrap();
        first.shutdown(Shutdown::Write).unwrap();
        assert_eq!(rest(&mut last), b"all I have to say");
        for word in [&b"but I "[..], b"have ", b"more"] {
            last.write_all(word).unwrap();
            let mut heard = vec![0; word.len()];
            first.read_exact(&mut heard).unwrap();
            assert_eq!(heard, word);
        }
        drop(last);
        assert!(rest(&mut first).is_empty());
    }
    assert_eq!(proxy.stop("relayed"), 2);
}

fn a_slow_reader_slows_its_writer_down(backend: &str) {
    let (listener, address) = listen();
    let proxy = Proxy::start(backend, &[address], &[]);
    let mut client = proxy.connect();
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut upstream = patient(listener.accept().unwrap().0);
    let (block, mut sent) = (bytes(100_000, 3), 0);
    let error = loop {
        match client.write(&block[sent % block.len()..]) {
            Ok(count) => sent += count,
            Err(error) => break error,
        }
        assert!(sent < 200 << 20, "200 MiB were taken, and nobody reads");
    };
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    client.shutdown(Shutdown::Write).unwrap();
    let received = rest(&mut upstream);
    assert!(received.len() == sent && received.chunks(block.len()).all(|part| part == &block[..part.len()]));
    drop((client, upstream));
    proxy.stop("relayed");
}

fn upstreams_take_turns(backend: &str) {
    let servers: Vec<_> = (0..3).map(|_| listen()).collect();
    let (dead, dead_address) = listen();
    drop(dead);
    let addresses: Vec<_> =
        servers.iter().map(|(_, address)| address.clone()).chain([dead_address]).collect();
    for (server, name) in servers.into_iter().zip([b"0", b"1", b"2"]) {
        thread::spawn(move || while server.0.accept().unwrap().0.write_all(name).is_ok() {});
    }
    let proxy = Proxy::start(backend, &addresses, &[]);
    let turns: Vec<u8> = (0..8).flat_map(|_| rest(&mut proxy.connect())).collect();
    // The turn of the dead one is taken by the next, whose own turn comes after it all the same.
    assert_eq!(turns, b"01200120");
    assert_eq!(proxy.stop("passed_over"), 2);
}

fn without_an_upstream_the_client_is_closed(backend: &str) {
    let (listener, address) = listen();
    drop(listener);
    let proxy = Proxy::start(backend, &[address], &[]);
    assert!(rest(&mut proxy.connect()).is_empty());
    assert_eq!(proxy.stop("unreached"), 1);
}

fn an_upstream_may_be_a_unix_socket(backend: &str) {
    let path = std::env::temp_dir().join(format!("corepool-tcp-proxy-{}-{backend}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let proxy = Proxy::start(backend, &[format!("unix:{}", path.display())], &[]);
    let mut client = proxy.connect();
    let (mut upstream, _) = listener.accept().unwrap();
    client.write_all(b"to a path").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut upstream), b"to a path");
    upstream.write_all(b"and back").unwrap();
    drop(upstream);
    assert_eq!(rest(&mut client), b"and back");
    proxy.stop("relayed");
    std::fs::remove_file(path).unwrap();
}

fn what_is_idle_for_too_long_is_closed(backend: &str) {
    let (listener, address) = listen();
    let proxy = Proxy::start(backend, &[address], &["--idle-timeout-ms", "200"]);
    let mut client = proxy.connect();
    let mut upstream = patient(listener.accept().unwrap().0);
    client.write_all(b"x").unwrap();
    assert_eq!(rest(&mut upstream), b"x");
    assert!(rest(&mut client).is_empty());
    assert_eq!(proxy.stop("idle"), 1);
}

fn a_reset_ends_the_other_side(backend: &str) {
    let (listener, address) = listen();
    let proxy = Proxy::start(backend, &[address], &[]);
    let client = proxy.connect();
    let mut upstream = patient(listener.accept().unwrap().0);
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    assert!(matches!(upstream.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(proxy.stop("failed"), 1);
}
