//! Clients that send and do not read: memory stays bounded, and nobody else has to wait.

use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use crate::client::{Value, request};
use crate::fake::{Fake, value};
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("who_does_not_read_is_read_no_further", who_does_not_read_is_read_no_further),
    ("who_does_not_read_is_cut_off_in_the_end", who_does_not_read_is_cut_off_in_the_end),
];

/// Sends requests until the socket takes no more.
fn flood(client: &crate::client::Client, key: &str) {
    let request = request(&["GET", key]);
    let mut socket = client.socket();
    // The kernel shall not hold much of it: what the proxy holds is looked at.
    rustix::net::sockopt::set_socket_send_buffer_size(socket, 32 << 10).unwrap();
    rustix::net::sockopt::set_socket_recv_buffer_size(socket, 32 << 10).unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut sent = 0;
    loop {
        match socket.write(&request.repeat(100)) {
            Ok(count) => sent += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return,
            Err(_cut_off) => return,
        }
        assert!(sent < 100 << 20, "100 MiB of requests were taken without a reply being read");
    }
}

fn who_does_not_read_is_read_no_further(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let before = proxy.resident();
    let mut flooding: Vec<_> = (0..2).map(|_| proxy.connect()).collect();
    flooding.iter().for_each(|client| flood(client, "key-10000"));
    let mut other = proxy.connect();
    assert_eq!(other.ask(&["GET", "mine"]), Value::Bulk(b"mine".to_vec()));
    let grown = proxy.resident().saturating_sub(before);
    // A window of replies for each at the most.
    assert!(grown < 2 * 1024 * 16_000, "{grown} bytes more");
    let mut first = flooding.swap_remove(0);
    for _ in 0..1000 {
        assert_eq!(first.reply().unwrap(), Value::Bulk(value("key-10000")));
    }
    drop((first, flooding));
    proxy.stop();
}

fn who_does_not_read_is_cut_off_in_the_end(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &["--stall-timeout-ms", "300"]);
    let client = proxy.connect();
    flood(&client, "key-100000");
    // Still it does not read, but it would go on sending.
    let deadline = Instant::now() + Duration::from_secs(20);
    let is_cut_off = || match client.socket().write(b"*1\r\n") {
        Ok(_) => false,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    };
    while !is_cut_off() {
        assert!(Instant::now() < deadline, "it was not cut off");
    }
    let mut other = proxy.connect();
    assert_eq!(other.ask(&["GET", "mine"]), Value::Bulk(b"mine".to_vec()));
    let totals = proxy.stop();
    assert_eq!(totals.of("stalled") + totals.of("unread"), 1, "{totals:?}");
}
