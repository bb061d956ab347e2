//! How a server ends: under load, with idle clients, when asked twice.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::Signal;

use crate::Case;
use crate::server::{Server, patient};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("under_load_every_reply_that_begins_is_whole", under_load),
    ("idle_clients_do_not_hold_it_up", idle_clients),
    ("asked_twice_it_ends_at_once", asked_twice),
    ("unheard_it_serves_and_ends_all_the_same", unheard),
    ("its_report_accounts_for_every_connection", report),
];

fn under_load(backend: &'static str) {
    let server = Server::start(backend, &[]);
    let exchanged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            let mut stream = server.connect();
            let exchanged = &exchanged;
            scope.spawn(move || until_the_end(&mut stream, exchanged));
        }
        crate::traffic::wait_until(|| exchanged.load(Ordering::Relaxed) > 1000);
        server.signal(Signal::TERM);
    });
    let (status, rest) = server.wait();
    assert!(status.success(), "{status}: {rest}");
}

/// Exchanges messages until the server has had enough. A reply may be missing, never torn.
fn until_the_end(stream: &mut TcpStream, exchanged: &AtomicU64) {
    let message = [7; 512];
    let mut reply = [0; 512];
    while stream.write_all(&message).is_ok() {
        let mut got = 0;
        while got < reply.len() {
            match stream.read(&mut reply[got..]) {
                Ok(0) | Err(_) => {
                    assert_eq!(got, 0, "a torn reply");
                    return;
                }
                Ok(count) => got += count,
            }
        }
        assert_eq!(reply, message);
        exchanged.fetch_add(1, Ordering::Relaxed);
    }
}

fn idle_clients(backend: &'static str) {
    crate::limits::raise_descriptor_limit();
    let server = Server::start(backend, &[]);
    let mut idle: Vec<_> = (0..1000).map(|_| patient(TcpStream::connect(server.address).unwrap())).collect();
    for stream in &mut idle {
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    let report = server.stop_cleanly();
    for mut stream in idle {
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "a clean end, not a reset");
    }
    assert_eq!((report.column("active"), report.column("ended")), (0, 1000));
}

fn asked_twice(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "1"]);
    // A client that never reads: its connection cannot end by itself.
    let mut stubborn = server.connect();
    stubborn.set_nonblocking(true).unwrap();
    let mut taken = 0;
    let mut refused_in_a_row = 0;
    while refused_in_a_row < 2000 && taken < 64 << 20 {
        match stubborn.write(&[1; 65536]) {
            Ok(count) => {
                taken += count;
                refused_in_a_row = 0;
            }
            Err(_) => {
                refused_in_a_row += 1;
                std::thread::yield_now();
            }
        }
    }
    server.signal(Signal::TERM);
    // The listener is closed when the first signal has arrived: signals sent faster than that count as one.
    crate::traffic::wait_until(|| TcpStream::connect(server.address).is_err());
    let (status, report) = server.stop();
    assert!(status.success(), "{status}: {report}");
}

fn report(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "1"]);
    for _ in 0..7 {
        let mut stream = server.connect();
        stream.write_all(b"x").unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    let report = server.stop_cleanly();
    let columns = ["active", "accepted", "local", "refused", "ended", "failed"];
    assert_eq!(columns.map(|name| report.column(name)), [0, 7, 7, 0, 7, 0]);
}

/// Nobody reads what it prints, and nobody its log: it serves and ends all the same.
fn unheard(backend: &'static str) {
    let mut command = crate::server::command(backend, &["--stats"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut child = command.stdout(Stdio::piped()).stderr(full).env("RUST_LOG", "trace").spawn().unwrap();
    let mut headline = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut headline).unwrap();
    drop(stdout);
    let address: std::net::SocketAddr = headline.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let mut stream = patient(TcpStream::connect(address).unwrap());
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    drop(stream);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}
