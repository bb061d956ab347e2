//! What clients do: messages of all sizes, half closes, resets, slow readers, crowds.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use crate::Case;
use crate::server::{Server, bytes};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("messages_of_all_sizes_come_back", messages_of_all_sizes_come_back),
    ("one_byte_at_a_time_comes_back", one_byte_at_a_time_comes_back),
    ("what_was_sent_before_a_half_close_comes_back", what_was_sent_before_a_half_close_comes_back),
    ("resets_disturb_nobody", resets_disturb_nobody),
    ("a_client_that_does_not_read_is_held_back", a_client_that_does_not_read_is_held_back),
    ("a_crowd_that_does_not_read_starves_nobody", a_crowd_that_does_not_read_starves_nobody),
    ("idle_connections_wake_up_again", idle_connections_wake_up_again),
    ("connections_that_come_and_go_leave_nothing", connections_that_come_and_go_leave_nothing),
    ("every_placement_serves", every_placement_serves),
    ("ipv6_and_ipv4_wildcards_live_together", ipv6_and_ipv4_wildcards_live_together),
];

fn exchange(stream: &mut TcpStream, message: &[u8]) {
    stream.write_all(message).unwrap();
    let mut reply = vec![0; message.len()];
    stream.read_exact(&mut reply).unwrap();
    assert!(reply == message, "a reply of {} bytes differs", message.len());
}

fn messages_of_all_sizes_come_back(backend: &'static str) {
    let server = Server::start(backend, &[]);
    let mut stream = server.connect();
    for size in [1, 2, 511, 512, 4096, 16 * 1024, 20 * 1024, 20 * 1024 + 1] {
        for round in 0..5 {
            exchange(&mut stream, &bytes(size, round));
        }
    }
    let large = bytes(8 << 20, 1);
    let mut writer = stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&large).unwrap());
        let mut reply = vec![0; large.len()];
        stream.read_exact(&mut reply).unwrap();
        assert!(reply == large, "a streamed reply differs");
    });
    drop((stream, writer));
    server.stop_cleanly();
}

fn one_byte_at_a_time_comes_back(backend: &'static str) {
    let server = Server::start(backend, &[]);
    let mut stream = server.connect();
    for byte in bytes(500, 3) {
        exchange(&mut stream, &[byte]);
    }
    server.stop_cleanly();
}

fn what_was_sent_before_a_half_close_comes_back(backend: &'static str) {
    let server = Server::start(backend, &[]);
    for size in [0, 1, 512, 100_000] {
        let mut stream = server.connect();
        let message = bytes(size, 4);
        stream.write_all(&message).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        assert!(reply == message, "{size} bytes and a half close gave {} bytes", reply.len());
    }
    server.stop_cleanly();
}

fn resets_disturb_nobody(backend: &'static str) {
    let server = Server::start(backend, &[]);
    let mut witness = server.connect();
    for round in 0..60 {
        let mut victim = server.connect();
        match round % 3 {
            0 => {}
            1 => victim.write_all(&bytes(5000, round)).unwrap(),
            _ => exchange(&mut victim, b"hello"),
        }
        SockRef::from(&victim).set_linger(Some(Duration::ZERO)).unwrap();
        drop(victim); // a reset
        exchange(&mut witness, &bytes(100, round));
    }
    drop(witness);
    server.stop_cleanly();
}

/// Writes without reading until the server takes no more; gives the number of bytes that it took.
fn stuff(stream: &mut TcpStream, pattern: &[u8]) -> usize {
    // The kernel takes a little more whenever a buffer grows; a while without progress means that it is full.
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut taken = 0;
    loop {
        match stream.write(&pattern[taken % pattern.len()..]) {
            Ok(count) => taken += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return taken;
            }
            Err(error) => panic!("{error}"),
        }
        assert!(taken < 256 << 20, "the server takes everything from a client that reads nothing");
    }
}

fn a_client_that_does_not_read_is_held_back(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "1"]);
    let pattern = bytes(1 << 20, 5);
    let mut stream = server.connect();
    let taken = stuff(&mut stream, &pattern);
    let status = procfs::process::Process::new(server.pid().try_into().unwrap()).unwrap().status().unwrap();
    let resident = status.vmrss.unwrap();
    assert!(resident < 128 << 10, "{resident} KiB resident");
    stream.shutdown(Shutdown::Write).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    assert_eq!(reply.len(), taken);
    let same = reply.chunks(pattern.len()).all(|part| part == &pattern[..part.len()]);
    assert!(same, "the reply differs");
    drop(stream);
    server.stop_cleanly();
}

fn a_crowd_that_does_not_read_starves_nobody(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "1"]);
    let message = bytes(64 * 1024, 6);
    let crowd: Vec<_> = (0..600)
        .map(|_| {
            let mut stream = server.connect();
            // A small window, so that one message is more than the server can send back.
            SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
            stream.set_nonblocking(true).unwrap();
            for _ in 0..64 {
                if stream.write(&message).is_err() {
                    break;
                }
            }
            stream
        })
        .collect();
    let mut reader = server.connect();
    for round in 0..200 {
        exchange(&mut reader, &bytes(1000, round));
    }
    drop((crowd, reader));
    server.stop_cleanly();
}

fn idle_connections_wake_up_again(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "1"]);
    let mut streams: Vec<_> = (0..500).map(|_| server.connect()).collect();
    for stream in &mut streams {
        exchange(stream, b"first");
    }
    // Longer than the server lets an idle connection keep a receive buffer: this is the subject, not a wait
    // for something to have happened.
    std::thread::sleep(Duration::from_millis(1200));
    for stream in &mut streams {
        exchange(stream, b"second");
        exchange(stream, &bytes(3000, 7));
    }
    drop(streams);
    server.stop_cleanly();
}

fn connections_that_come_and_go_leave_nothing(backend: &'static str) {
    let server = Server::start(backend, &[]);
    let descriptors = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap().count();
    exchange(&mut server.connect(), b"warm");
    wait_until(|| descriptors() > 0);
    let before = descriptors();
    for round in 0..300 {
        exchange(&mut server.connect(), &bytes(64, round));
    }
    wait_until(|| descriptors() <= before);
    assert_eq!(server.stop_cleanly().column("ended"), 301);
}

fn every_placement_serves(backend: &'static str) {
    for placement in ["local-first", "even", "even:2", "round-robin", "always-other"] {
        let server = Server::start(backend, &["--workers", "2", "--placement", placement]);
        let mut streams: Vec<_> = (0..20).map(|_| server.connect()).collect();
        for (stream, seed) in streams.iter_mut().zip(0..) {
            exchange(stream, &bytes(2000, seed));
        }
        drop(streams);
        server.stop_cleanly();
    }
}

fn ipv6_and_ipv4_wildcards_live_together(backend: &'static str) {
    // The kernel picks the port of the first; the second joins it, which only works if IPv6 leaves IPv4 alone.
    let free = std::net::TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
    let mut command = std::process::Command::new(crate::server::example());
    let (four, six) = (format!("0.0.0.0:{free}"), format!("[::]:{free}"));
    command.args(["--backend", backend, "--addr", &six, "--addr", &four]);
    let server = Server::spawn(command);
    for host in ["127.0.0.1", "[::1]"] {
        let mut stream = TcpStream::connect(format!("{host}:{free}")).unwrap();
        exchange(&mut stream, host.as_bytes());
    }
    server.stop_cleanly();
}

/// Waits for what must come; the test's own time limit ends a wait in vain.
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "it never came");
        std::thread::yield_now();
    }
}
