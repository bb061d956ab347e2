//! Every server of the lab does every service, however many workers it has.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use corepool_lab::serve::registry::systems;
use serde_json::Value;
use support::LAB;

/// A server that ends with the test.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(name: &str, service: &str) -> Self {
        let mut child = Command::new(LAB)
            .args(["serve", name, "--addr=127.0.0.1:0", "--workers=2", "--service", service])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{name}: {line}"));
        let address = ready["addresses"][0].as_str().unwrap().to_owned();
        Self { child, address }
    }

    /// Sends all of it while it receives so much.
    fn exchange(&self, request: &[u8], reply_bytes: usize) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let request = request.to_vec();
        let writer = thread::spawn(move || writer.write_all(&request).unwrap());
        let mut reply = vec![0; reply_bytes];
        stream.read_exact(&mut reply).unwrap();
        writer.join().unwrap();
        reply
    }

    /// Sends all of it and nothing more; returns all that comes back.
    fn conversation(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        reply
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let status = self.child.wait();
        assert!(thread::panicking() || status.unwrap().success());
    }
}

fn each_system(service: &str, check: impl Fn(&str, &Serving)) {
    for system in systems() {
        check(system.name, &Serving::start(system.name, service));
    }
}

fn message(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8).collect()
}

#[test]
fn an_echo_of_any_size() {
    each_system("echo", |name, server| {
        for bytes in [1, 512, 20 * 1024, 1_000_003] {
            let message = message(bytes);
            assert!(server.exchange(&message, bytes) == message, "{name}: {bytes} B");
        }
    });
}

#[test]
fn an_echo_that_the_server_closes() {
    each_system("echo-once:512", |name, server| {
        let message = message(512);
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(&message).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        assert_eq!(reply, message, "{name}");
    });
}

#[test]
fn work_with_waits_between() {
    each_system("work:64:io-heavy", |name, server| {
        let clients: Vec<_> = (0..8_u8)
            .map(|client| {
                let request = [&[client * 32][..], &message(63)].concat();
                move || (server.exchange(&request, 64), request)
            })
            .collect();
        thread::scope(|scope| {
            let clients: Vec<_> = clients.into_iter().map(|client| scope.spawn(client)).collect();
            for client in clients {
                let (reply, request) = client.join().unwrap();
                assert_eq!(reply, request, "{name}");
            }
        });
    });
}

#[test]
fn transfers_up_and_down() {
    each_system("transfer:300000:500000", |name, server| {
        let reply = server.exchange(&message(600_000), 1_000_000);
        assert!(reply[..500_000] == reply[500_000..], "{name}");
        assert!(reply[..64] != reply[64..128], "{name}");
    });
}

#[test]
fn http_requests_in_one_piece_or_two() {
    each_system("http:100", |name, server| {
        let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let one = server.conversation(request);
        assert!(one.starts_with(b"HTTP/1.1 200 OK\r\n"), "{name}");
        let (first, second) = request.split_at(10);
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_nodelay(true).unwrap();
        for part in [request, first, second] {
            stream.write_all(part).unwrap();
        }
        let mut two = vec![0; 2 * one.len()];
        stream.read_exact(&mut two).unwrap();
        assert_eq!(two, [&one[..], &one].concat(), "{name}");
    });
}
