//! `corepool-lab serve` from the outside: the ready line, an echo, the end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::LAB;

fn start(name: &str) -> (Child, Value) {
    let mut child = Command::new(LAB)
        .args(["serve", name, "--addr=127.0.0.1:0", "--workers=2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    child.stdout = Some(output.into_inner());
    (child, serde_json::from_str(&line).unwrap())
}

fn echo_once(ready: &Value) {
    let mut stream = TcpStream::connect(ready["addresses"][0].as_str().unwrap()).unwrap();
    stream.write_all(b"hello").unwrap();
    let mut reply = [0; 5];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"hello");
}

#[test]
fn it_says_when_it_is_ready_and_ends_with_its_input() {
    for name in ["epoll", "tokio-raw", "compio-raw", "monoio-raw"] {
        let (mut child, ready) = start(name);
        assert_eq!(ready["ready"], true);
        assert_eq!(ready["name"], name);
        assert_eq!(ready["pid"], child.id());
        echo_once(&ready);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{name}");
        let mut more = String::new();
        child.stdout.unwrap().read_to_string(&mut more).unwrap();
        assert_eq!(more, "", "{name}");
    }
}

#[test]
fn it_ends_well_on_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut child, ready) = start("epoll");
        echo_once(&ready);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert!(child.wait().unwrap().success(), "{signal:?}");
    }
}

#[test]
fn an_address_in_use_is_the_reason_that_it_does_not_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("--addr={}", taken.local_addr().unwrap());
    let output = support::lab(&["serve", "tokio-raw", &address]);
    assert_eq!(output.status.code(), Some(1));
    let said = support::errors(&output);
    assert!(said.contains("server `tokio-raw`: listen on"), "{said}");
}
