//! Clients that send what is not to be sent: answered, cut off, counted.

use std::io::Write;
use std::thread;

use crate::client::{Value, request};
use crate::fake::Fake;
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("malformed_requests_are_answered_and_counted", malformed_requests_are_answered_and_counted),
    ("oversized_requests_are_answered_and_counted", oversized_requests_are_answered_and_counted),
    ("endless_requests_are_cut_off_in_bounded_memory", endless_requests_are_cut_off),
    ("http_is_refused", http_is_refused),
];

fn malformed_requests_are_answered_and_counted(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let streams: [&[u8]; 4] = [b"*1\r\n!", b"*x\r\n", b"get \"x\r\n", b"*2\r\n$3\r\nGET\r\n$-4\r\n"];
    for bad in streams {
        let mut client = proxy.connect();
        client.send(&[&request(&["GET", "late"])[..], &request(&["GET", "x"]), bad].concat()).unwrap();
        assert_eq!(client.reply().unwrap(), Value::Bulk(b"late".to_vec()));
        assert_eq!(client.reply().unwrap(), Value::Bulk(b"x".to_vec()));
        assert!(client.reply().unwrap().is_error("Protocol error"));
        assert!(client.is_at_end());
    }
    assert_eq!(proxy.stop().of("malformed"), 4);
}

fn oversized_requests_are_answered_and_counted(on: On) {
    let fake = Fake::good();
    let limits =
        ["--request-max", "1000", "--bulk-max", "500", "--arguments-max", "10", "--inline-max", "100"];
    let proxy = Proxy::start(on, &fake.upstream(), &limits);
    let long = "x".repeat(400);
    let streams = [
        b"*11\r\n".to_vec(),
        b"*2\r\n$501\r\n".to_vec(),
        vec![b'x'; 101],
        request(&["MSET", &long, &long, &long]),
    ];
    for bad in streams {
        let mut client = proxy.connect();
        client.send(&bad).unwrap();
        assert!(client.reply().unwrap().is_error("too big"));
        assert!(client.is_at_end());
    }
    assert_eq!(proxy.stop().of("too_big"), 4);
}

/// A request that never ends is read until a limit, at the speed of the client, and is never in memory as a whole.
fn endless_requests_are_cut_off(on: On) {
    let fake = Fake::good();
    let most = 64 << 20;
    let proxy = Proxy::start(on, &fake.upstream(), &["--request-max", &most.to_string()]);
    let before = proxy.resident();
    let mut client = proxy.connect();
    client.send(b"*1000000\r\n").unwrap();
    let mut sender = client.socket().try_clone().unwrap();
    let argument = request(&["", &"x".repeat(100_000)]).split_off("*2\r\n$0\r\n\r\n".len());
    let sending = thread::spawn(move || (0..).find(|_| sender.write_all(&argument).is_err()));
    assert!(client.reply().unwrap().is_error("too big"));
    let grown = proxy.resident().saturating_sub(before);
    assert!(grown < 4 * most, "{grown} bytes more for a request of {most} at the most");
    drop(client);
    sending.join().unwrap();
    assert_eq!(proxy.stop().of("too_big"), 1);
}

fn http_is_refused(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nFLUSHALL\r\n").unwrap();
    assert!(client.reply().unwrap().is_error("not HTTP"));
    assert!(client.is_at_end());
    assert_eq!(proxy.stop().of("forbidden"), 1);
}
