//! What works: pipelines, cut anywhere, in order; connections that are shared or bound.

use std::io::Write;
use std::thread;

use crate::client::{Value, request};
use crate::fake::{Fake, value};
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("a_pipeline_is_answered_in_order", a_pipeline_is_answered_in_order),
    ("requests_and_replies_may_be_cut_anywhere", requests_and_replies_may_be_cut_anywhere),
    ("long_requests_and_replies_pass", long_requests_and_replies_pass),
    ("quit_is_answered_and_obeyed", quit_is_answered_and_obeyed),
    ("nothing_is_answered_to_nothing", nothing_is_answered_to_nothing),
    ("a_client_may_finish_before_it_has_its_replies", a_client_may_finish_before_it_has_its_replies),
    ("connections_are_reused", connections_are_reused),
];

pub(crate) const DIRECT: &[(&str, Case)] = &[
    ("what_binds_has_a_connection_of_its_own_until_it_ends", what_binds_has_a_connection_of_its_own),
    ("who_dawdles_keeps_nobody_waiting", who_dawdles_keeps_nobody_waiting),
];

pub(crate) const SHARED: &[(&str, Case)] = &[
    ("what_binds_is_refused_in_its_turn", what_binds_is_refused_in_its_turn),
    ("a_narrow_window_lets_everybody_through", a_narrow_window_lets_everybody_through),
    ("the_reply_to_who_has_left_is_dropped", the_reply_to_who_has_left_is_dropped),
];

fn bulk(key: &str) -> Value {
    Value::Bulk(value(key))
}

fn a_pipeline_is_answered_in_order(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    let keys: Vec<_> = (0..2000).map(|number| format!("key-{number}")).collect();
    let pipeline: Vec<u8> = keys.iter().flat_map(|key| request(&["GET", key])).collect();
    let mut sender = client.socket().try_clone().unwrap();
    let sending = thread::spawn(move || sender.write_all(&pipeline).unwrap());
    for key in &keys {
        assert_eq!(client.reply().unwrap(), bulk(key));
    }
    sending.join().unwrap();
    drop(client);
    proxy.stop();
}

fn requests_and_replies_may_be_cut_anywhere(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    let keys = ["bytewise-40", "x", "bytewise-1", "bytewise-0", "y"];
    let stream: Vec<u8> = keys.iter().flat_map(|key| request(&["GET", key])).collect();
    for size in [1, 2, 3, 7, 31, 32] {
        for piece in stream.chunks(size) {
            client.send(piece).unwrap();
        }
        for key in keys {
            assert_eq!(client.reply().unwrap(), bulk(key));
        }
    }
    proxy.stop();
}

fn long_requests_and_replies_pass(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    let long = "x".repeat(1_000_000);
    for _ in 0..3 {
        let stream =
            [request(&["GET", "a-3000000"]), request(&["SET", "b", &long]), request(&["GET", "c"])].concat();
        let mut sender = client.socket().try_clone().unwrap();
        let sending = thread::spawn(move || sender.write_all(&stream).unwrap());
        for key in ["a-3000000", "b", "c"] {
            assert_eq!(client.reply().unwrap(), bulk(key));
        }
        sending.join().unwrap();
    }
    proxy.stop();
}

fn quit_is_answered_and_obeyed(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    client.send(&[request(&["GET", "late"]), request(&["QUIT"]), request(&["GET", "x"])].concat()).unwrap();
    assert_eq!(client.reply().unwrap(), bulk("late"));
    assert_eq!(client.reply().unwrap(), Value::Simple("OK".into()));
    assert!(client.is_at_end());
    proxy.stop();
}

fn nothing_is_answered_to_nothing(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    client.send(b"\r\n\n*0\r\n*-1\r\n").unwrap();
    assert_eq!(client.ask(&["GET", "x"]), bulk("x"));
    proxy.stop();
}

fn a_client_may_finish_before_it_has_its_replies(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    client.send(&[request(&["GET", "late"]), request(&["GET", "x"])].concat()).unwrap();
    client.socket().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(client.reply().unwrap(), bulk("late"));
    assert_eq!(client.reply().unwrap(), bulk("x"));
    assert!(client.is_at_end());
    proxy.stop();
}

fn connections_are_reused(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut clients: Vec<_> = (0..10).map(|_| proxy.connect()).collect();
    for round in 0..20 {
        for (index, client) in clients.iter_mut().enumerate() {
            let key = format!("{round}x{index}");
            assert_eq!(client.ask(&["GET", &key]), bulk(&key));
        }
    }
    assert_eq!(fake.connections(), 1);
    proxy.stop();
}

fn what_binds_has_a_connection_of_its_own(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "2"]);
    let (mut bound, mut other) = (proxy.connect(), proxy.connect());
    bound.send(&[request(&["GET", "a"]), request(&["MULTI", "m"]), request(&["GET", "b"])].concat()).unwrap();
    for key in ["a", "m", "b"] {
        assert_eq!(bound.reply().unwrap(), bulk(key));
    }
    assert_eq!(other.ask(&["GET", "x"]), bulk("x"));
    assert_eq!(fake.connections(), 2);
    assert_eq!(bound.ask(&["GET", "c"]), bulk("c"));
    bound.leave();
    while fake.ended() == 0 {
        thread::yield_now();
    }
    assert_eq!(other.ask(&["GET", "y"]), bulk("y"));
    assert_eq!((fake.connections(), fake.ended()), (2, 1));
    assert_eq!(proxy.stop().of("bound"), 1);
}

fn who_dawdles_keeps_nobody_waiting(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    let mut dawdlers: Vec<_> = (0..5).map(|_| proxy.connect()).collect();
    for dawdler in &mut dawdlers {
        assert_eq!(dawdler.ask(&["GET", "x"]), bulk("x"));
        dawdler.send(&request(&["SET", "y", "value"])[..20]).unwrap();
    }
    let mut client = proxy.connect();
    assert_eq!(client.ask(&["GET", "z"]), bulk("z"));
    for dawdler in &mut dawdlers {
        dawdler.send(&request(&["SET", "y", "value"])[20..]).unwrap();
        assert_eq!(dawdler.reply().unwrap(), bulk("y"));
    }
    proxy.stop();
}

fn what_binds_is_refused_in_its_turn(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let mut client = proxy.connect();
    let stream = [
        request(&["GET", "late"]),
        request(&["SUBSCRIBE", "x"]),
        b"\"multi\"\r\n".to_vec(),
        request(&["GET", "y"]),
    ];
    client.send(&stream.concat()).unwrap();
    assert_eq!(client.reply().unwrap(), bulk("late"));
    assert!(client.reply().unwrap().is_error("binds state"));
    assert!(client.reply().unwrap().is_error("binds state"));
    assert_eq!(client.reply().unwrap(), bulk("y"));
    assert_eq!(proxy.stop().of("refused"), 2);
}

fn a_narrow_window_lets_everybody_through(on: On) {
    let fake = Fake::good();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1", "--window", "3"]);
    let address = proxy.address;
    let clients = (0..8).map(|index| {
        thread::spawn(move || {
            let mut client = crate::client::Client::connect(address);
            let keys: Vec<_> = (0..300).map(|number| format!("{index}x{number}")).collect();
            client.send(&keys.iter().flat_map(|key| request(&["GET", key])).collect::<Vec<_>>()).unwrap();
            keys.iter().for_each(|key| assert_eq!(client.reply().unwrap(), bulk(key)));
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    proxy.stop();
}

fn the_reply_to_who_has_left_is_dropped(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &["--connections", "1"]);
    for _ in 0..5 {
        let (mut leaver, mut other) = (proxy.connect(), proxy.connect());
        leaver.send(&[request(&["GET", "late"]), request(&["GET", "leaver"])].concat()).unwrap();
        leaver.leave();
        assert_eq!(other.ask(&["GET", "mine"]), bulk("mine"));
    }
    assert_eq!(fake.connections(), 1);
    proxy.stop();
}
