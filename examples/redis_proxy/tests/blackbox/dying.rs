//! Upstreams that die, stall, or say what nobody has asked for: every request has an answer, and the right one.

use std::net::TcpListener;

use crate::client::{Value, request};
use crate::fake::{Act, Fake, value};
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("an_upstream_that_dies_is_replaced", an_upstream_that_dies_is_replaced),
    ("a_short_reply_cut_in_two_is_an_error", a_short_reply_cut_in_two_is_an_error),
    ("a_long_reply_cut_in_two_ends_the_client", a_long_reply_cut_in_two_ends_the_client),
    ("an_upstream_that_stalls_is_given_up", an_upstream_that_stalls_is_given_up),
    ("what_nobody_asked_for_reaches_nobody", what_nobody_asked_for_reaches_nobody),
    ("garbage_reaches_nobody", garbage_reaches_nobody),
    ("without_an_upstream_requests_are_errors_until_it_comes", without_an_upstream_requests_are_errors),
];

fn bulk(key: &str) -> Value {
    Value::Bulk(value(key))
}

/// Asks until there is a connection again: shared ones take a moment.
fn ask_again(client: &mut crate::client::Client, key: &str) {
    loop {
        match client.ask(&["GET", key]) {
            Value::Error(text) => assert!(text.contains("proxy"), "{text}"),
            other => return assert_eq!(other, bulk(key)),
        }
    }
}

fn an_upstream_that_dies_is_replaced(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut client = proxy.connect();
    for _ in 0..5 {
        client
            .send(&[request(&["GET", "a"]), request(&["GET", "die"]), request(&["GET", "b"])].concat())
            .unwrap();
        assert_eq!(client.reply().unwrap(), bulk("a"));
        assert!(client.reply().unwrap().is_error("proxy: the upstream was lost"));
        assert!(client.reply().unwrap().is_error("proxy: the upstream was lost"));
        ask_again(&mut client, "c");
    }
    let totals = proxy.stop();
    assert_eq!((totals.of("lost"), totals.of("upstreams_lost")), (10, 5));
}

fn a_short_reply_cut_in_two_is_an_error(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut client = proxy.connect();
    for _ in 0..3 {
        client.send(&[request(&["GET", "a"]), request(&["GET", "die-inside"])].concat()).unwrap();
        assert_eq!(client.reply().unwrap(), bulk("a"));
        assert!(client.reply().unwrap().is_error("proxy: the upstream was lost"));
        ask_again(&mut client, "b");
    }
    proxy.stop();
}

fn a_long_reply_cut_in_two_ends_the_client(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut client = proxy.connect();
    client.send(&[request(&["GET", "die-inside-1000000"]), request(&["GET", "x"])].concat()).unwrap();
    assert!(client.reply().is_err(), "half a reply is not a reply");
    ask_again(&mut proxy.connect(), "y");
    assert_eq!(proxy.stop().of("reply_cut"), 1);
}

fn an_upstream_that_stalls_is_given_up(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1", "--stall-timeout-ms", "200"]);
    let mut client = proxy.connect();
    client.send(&[request(&["GET", "stall"]), request(&["GET", "x"])].concat()).unwrap();
    assert!(client.reply().unwrap().is_error("proxy: the upstream was lost"));
    assert!(client.reply().unwrap().is_error("proxy: the upstream was lost"));
    ask_again(&mut client, "y");
    assert_eq!(proxy.stop().of("lost"), 2);
}

fn what_nobody_asked_for_reaches_nobody(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let (mut client, mut other) = (proxy.connect(), proxy.connect());
    for _ in 0..10 {
        assert_eq!(client.ask(&["GET", "twice"]), bulk("twice"));
        ask_again(&mut other, "x");
        ask_again(&mut client, "y");
    }
    proxy.stop();
}

fn garbage_reaches_nobody(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut client = proxy.connect();
    for pipeline in [&["garbage"][..], &["a", "b", "garbage", "c"]] {
        client.send(&pipeline.iter().flat_map(|key| request(&["GET", key])).collect::<Vec<_>>()).unwrap();
        // What came before it in the same piece is good.
        let good = pipeline.iter().take_while(|key| **key != "garbage");
        good.for_each(|key| assert_eq!(client.reply().unwrap(), bulk(key)));
        let bad = pipeline.iter().skip_while(|key| **key != "garbage");
        bad.for_each(|_| assert!(client.reply().unwrap().is_error("proxy: the upstream was lost")));
        ask_again(&mut client, "x");
    }
    proxy.stop();
}

fn without_an_upstream_requests_are_errors(on: On) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Proxy::start(on, &address.to_string(), &[]);
    let mut client = proxy.connect();
    client.send(&[request(&["GET", "a"]), request(&["SET", "b", "c"])].concat()).unwrap();
    assert!(client.reply().unwrap().is_error("proxy: no upstream"));
    assert!(client.reply().unwrap().is_error("proxy: no upstream"));
    assert!(client.ask(&["GET", "a"]).is_error("proxy: no upstream"));
    let fake = Fake::start_on(TcpListener::bind(address).unwrap(), |_words| Act::Reply);
    ask_again(&mut client, "x");
    assert!(fake.connections() > 0);
    assert!(proxy.stop().of("unreached") >= 3);
}
