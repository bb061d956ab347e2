//! What each workload does to a server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use corepool::Scope;
use corepool_lab::generator::{Faults, Fleet};
use corepool_lab::serve::ServeOptions;
use corepool_lab::serve::registry::systems;
use corepool_lab::serve::when_full::WhenFull;
use corepool_lab::servers::Server;
use corepool_lab::workload::mix::Endpoint;
use corepool_lab::workload::{Closes, Direction, Kind, Mix, Workload};
use support::{LAB, echo, replying, server};

const SLICE: Duration = Duration::from_millis(60);

fn start(name: &str, workload: &Workload) -> Server {
    start_with(name, workload, None)
}

fn start_with(name: &str, workload: &Workload, overflow: Option<WhenFull>) -> Server {
    let mut options = options(workload);
    options.overflow = overflow;
    Server::start(LAB.as_ref(), name, &options).unwrap()
}

fn options(workload: &Workload) -> ServeOptions {
    let mut options = ServeOptions::default();
    options.service = workload.service();
    options.workers = 2;
    options.limit = workload.limit(2);
    options
}

/// A few of each workload, small.
fn workloads() -> Vec<Workload> {
    let small = |kind: Kind| {
        let mut workload = Workload::of(kind);
        workload.connections = workload.connections.min(12);
        workload.bytes = workload.bytes.min(300_000);
        workload.idle = workload.idle.min(50);
        workload
    };
    let mut all: Vec<_> = Kind::ALL.into_iter().map(small).collect();
    for closes in [Closes::Server, Closes::Reset] {
        let mut churn = small(Kind::Churn);
        churn.closes = closes;
        churn.requests_per_connection = 2;
        all.push(churn);
    }
    for direction in [Direction::Up, Direction::Down] {
        let mut stream = small(Kind::Stream);
        stream.direction = direction;
        all.push(stream);
    }
    for kind in [Kind::Echo, Kind::Http] {
        let mut pipelined = small(kind);
        pipelined.pipeline = 8;
        all.push(pipelined);
        let mut open = small(kind);
        open.rate = Some(2000.0);
        all.push(open);
    }
    all
}

#[test]
fn every_server_takes_every_workload() {
    for workload in workloads() {
        for system in systems() {
            let server = start(system.name, &workload);
            let mut fleet = Fleet::connect(server.address(), &workload).unwrap();
            for _ in 0..2 {
                let tally = fleet.run(SLICE / 3).unwrap();
                // In an open loop a machine that stands still for a moment sends nothing in a short slice.
                assert!(tally.requests + tally.unsent > 0, "{} {workload:?}", system.name);
            }
            assert_eq!(fleet.take_faults(), Faults::default(), "{} {workload:?}", system.name);
        }
    }
}

#[test]
fn the_framework_takes_every_workload_with_permits_for_requests() {
    for workload in workloads() {
        for name in ["tokio", "compio", "monoio"] {
            for admission in ["adaptive:1..8", "unlimited"] {
                let mut options = options(&workload);
                (options.scope, options.limit) = (Scope::Request, None);
                options.admission = Some(admission.parse().unwrap());
                let server = Server::start(LAB.as_ref(), name, &options).unwrap();
                let mut fleet = Fleet::connect(server.address(), &workload).unwrap();
                let tally = fleet.run(SLICE / 3).unwrap();
                assert!(tally.requests + tally.unsent > 0, "{name} {admission} {workload:?}");
                assert_eq!((tally.waiting, tally.refused), (0, 0), "{name} {admission} {workload:?}");
                assert_eq!(fleet.take_faults(), Faults::default(), "{name} {admission} {workload:?}");
            }
        }
    }
}

#[test]
fn a_tenth_of_the_connections_sends_nine_tenths_of_the_requests() {
    for rate in [None, Some(3000.0)] {
        let counts = Arc::new(Mutex::new(BTreeMap::new()));
        let counting = Arc::clone(&counts);
        let address = server(move |mut stream| {
            let peer = stream.peer_addr().unwrap();
            let mut buffer = [0; 64];
            while stream.read_exact(&mut buffer).is_ok() {
                *counting.lock().unwrap().entry(peer).or_insert(0_u64) += 1;
                let _ = stream.write_all(&buffer);
            }
        });
        let mut workload = Workload::of(Kind::Skew);
        (workload.connections, workload.bytes, workload.rate) = (20, 64, rate);
        let mut fleet = Fleet::connect(address, &workload).unwrap();
        let requests = fleet.run(Duration::from_millis(300)).unwrap().requests;
        let mut counts: Vec<_> = counts.lock().unwrap().values().copied().collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let busy = counts.iter().take(2).sum::<u64>() as f64 / requests as f64;
        assert!((0.87..0.93).contains(&busy), "{rate:?}: {counts:?}");
    }
}

#[test]
fn clients_that_find_no_slot_wait_or_are_refused_and_lose_nothing() {
    for (overflow, waiting, refused) in [(WhenFull::Queue, 10, 0), (WhenFull::Reject, 0, 10)] {
        let mut workload = Workload::of(Kind::Saturation);
        workload.connections = 16;
        let server = start_with("tokio", &workload, Some(overflow));
        let mut fleet = Fleet::connect(server.address(), &workload).unwrap();
        for _ in 0..2 {
            let tally = fleet.run(SLICE).unwrap();
            assert!(tally.requests > 0);
            assert_eq!((tally.waiting, tally.refused), (waiting, refused), "{overflow}");
            assert!(tally.elapsed >= SLICE);
        }
        assert_eq!(fleet.take_faults(), Faults::default());
    }
}

#[test]
fn those_that_found_no_slot_are_served_when_others_leave() {
    let mut workload = Workload::of(Kind::Saturation);
    (workload.connections, workload.requests_per_connection) = (16, 1);
    let server = start("tokio", &workload);
    let mut fleet = Fleet::connect(server.address(), &workload).unwrap();
    let requests: u64 = (0..3).map(|_| fleet.run(SLICE).unwrap().requests).sum();
    assert!(requests > 16, "{requests}");
    assert_eq!(fleet.take_faults(), Faults::default());
}

#[test]
fn clients_that_a_server_lets_wait_do_so_and_lose_nothing() {
    // It serves one connection after the other.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 512];
            while stream.read_exact(&mut buffer).is_ok() {
                stream.write_all(&buffer).unwrap();
            }
        }
    });
    let mut workload = Workload::of(Kind::Saturation);
    workload.connections = 5;
    let mut fleet = Fleet::connect(address, &workload).unwrap();
    for _ in 0..2 {
        let tally = fleet.run(SLICE).unwrap();
        assert!(tally.requests > 0);
        assert_eq!((tally.waiting, tally.refused), (4, 0));
    }
    assert_eq!(fleet.take_faults(), Faults::default());
}

#[test]
fn a_server_that_closes_before_the_client_is_waited_for() {
    let mut workload = Workload::of(Kind::Churn);
    (workload.closes, workload.connections) = (Closes::Server, 3);
    let mut fleet = Fleet::connect(start("epoll", &workload).address(), &workload).unwrap();
    // That server has ended with the line above.
    assert_eq!(fleet.run(SLICE).unwrap().requests, 0);
    assert_eq!(fleet.take_faults().total(), 3);
    let never_closes = echo();
    let mut fleet = Fleet::connect(never_closes, &workload).unwrap();
    assert_eq!(fleet.run(SLICE).unwrap().requests, 3);
    assert_eq!(fleet.take_faults().stalled, 3);
}

#[test]
fn each_endpoint_takes_as_long_as_it_waits() {
    let mut workload = Workload::of(Kind::Work);
    (workload.connections, workload.mix) = (30, Mix::Mixed);
    let server = start("epoll", &workload);
    let mut fleet = Fleet::connect(server.address(), &workload).unwrap();
    let tally = fleet.run(Duration::from_millis(300)).unwrap();
    let counts: Vec<_> = fleet.latencies_by_endpoint().iter().map(|latencies| latencies.len()).collect();
    assert_eq!(counts.iter().sum::<u64>(), tally.requests);
    let least = |endpoint: Endpoint| fleet.latencies_by_endpoint()[endpoint as usize].min();
    assert!(least(Endpoint::CreateOrder) >= 12_000_000);
    assert!(least(Endpoint::ReadOrder) >= 1_000_000);
    assert!(least(Endpoint::IndexPage) < 1_000_000);
}

#[test]
fn an_open_loop_sends_what_was_planned_and_no_more() {
    let mut workload = Workload::default();
    (workload.connections, workload.rate) = (8, Some(2000.0));
    let mut fleet = Fleet::connect(echo(), &workload).unwrap();
    let tally = fleet.run(Duration::from_millis(500)).unwrap();
    let planned = tally.requests + tally.unsent;
    assert!((999..=1001).contains(&planned), "{planned}");
    assert_eq!(fleet.latencies().len(), planned);
}

#[test]
fn a_server_that_stands_still_cannot_hide_it_in_an_open_loop() {
    // It answers one request and then none for as long as the slice lasts.
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let address = replying(move |earlier, bytes| {
        if earlier == 1 {
            let _ = released.lock().ok()?.recv();
        }
        Some(bytes.to_vec())
    });
    let mut workload = Workload::default();
    (workload.connections, workload.rate) = (1, Some(1000.0));
    let mut fleet = Fleet::connect(address, &workload).unwrap();
    let slice = Duration::from_millis(400);
    let ends = thread::spawn(move || {
        thread::sleep(slice + SLICE);
        drop(release);
    });
    let tally = fleet.run(slice).unwrap();
    ends.join().unwrap();
    assert_eq!(tally.requests + tally.unsent, fleet.latencies().len());
    assert!(tally.unsent > 300, "{tally:?}");
    // A closed loop would have seen one slow request; of those that were planned, half waited for half of it.
    let median = Duration::from_nanos(fleet.latencies().value_at_quantile(0.5));
    assert!(median > slice / 4, "{median:?}");
}

#[test]
fn a_rate_can_be_changed_between_slices() {
    let mut fleet = Fleet::connect(echo(), &Workload::default()).unwrap();
    fleet.set_rate(Some(1000.0));
    let tally = fleet.run(Duration::from_millis(200)).unwrap();
    assert!((199..=201).contains(&(tally.requests + tally.unsent)), "{tally:?}");
    fleet.set_rate(None);
    assert!(fleet.run(SLICE).unwrap().requests > 64);
}

#[test]
fn an_idle_connection_that_the_server_closes_is_a_fault() {
    // The first connections to be opened are the busy ones; the idle ones have one request.
    let accepted = std::sync::atomic::AtomicUsize::new(0);
    let address = server(move |mut stream| {
        let connection = accepted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut buffer = [0; 512];
        while stream.read_exact(&mut buffer).is_ok() {
            stream.write_all(&buffer).unwrap();
            if connection == 3 {
                return;
            }
        }
    });
    let mut workload = Workload::of(Kind::Idle);
    (workload.connections, workload.idle) = (1, 3);
    let mut fleet = Fleet::connect(address, &workload).unwrap();
    fleet.run(SLICE).unwrap();
    assert_eq!(fleet.take_faults().closed, 1);
}

fn http(reply: impl Fn(usize) -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (connection, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let text = reply(connection);
            thread::spawn(move || {
                let mut stream = stream;
                let mut buffer = [0; 4096];
                while let Ok(1..) = stream.read(&mut buffer) {
                    stream.write_all(text.as_bytes()).unwrap();
                }
            });
        }
    });
    address
}

#[test]
fn every_http_reply_must_be_as_the_first_one() {
    let ok = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut workload = Workload::of(Kind::Http);
    workload.connections = 2;
    let same = http(move |_| ok("hello"));
    let mut fleet = Fleet::connect(same, &workload).unwrap();
    assert!(fleet.run(SLICE).unwrap().requests > 2);
    assert_eq!(fleet.take_faults(), Faults::default());
    let other = http(move |connection| ok(if connection == 1 { "hallo" } else { "hello" }));
    let mut fleet = Fleet::connect(other, &workload).unwrap();
    fleet.run(SLICE).unwrap();
    assert!(fleet.take_faults().wrong_bytes > 0);
}

#[test]
fn http_that_cannot_be_measured_is_an_error_that_says_why() {
    let workload = Workload::of(Kind::Http);
    for (text, reason) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "status 404"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "no Content-Length"),
        ("hello\r\n", "no HTTP"),
    ] {
        let error = Fleet::connect(http(move |_| text.to_owned()), &workload).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
