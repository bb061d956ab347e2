//! SIGTERM: requests in flight are answered, and it ends.

use crate::client::{Value, request};
use crate::fake::Fake;
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] =
    &[("a_drain_answers_what_is_in_flight", a_drain_answers_what_is_in_flight)];

fn a_drain_answers_what_is_in_flight(on: On) {
    let fake = Fake::by_key();
    let proxy = Proxy::start(on, &fake.upstream(), &[]);
    let (mut busy, mut idle) = (proxy.connect(), proxy.connect());
    assert_eq!(idle.ask(&["GET", "x"]), Value::Bulk(b"x".to_vec()));
    busy.send(&request(&["GET", "late"])).unwrap();
    // Something that is answered after it shows that it has arrived.
    assert_eq!(proxy.connect().ask(&["GET", "y"]), Value::Bulk(b"y".to_vec()));
    proxy.terminate();
    assert_eq!(busy.reply().unwrap(), Value::Bulk(b"late".to_vec()));
    assert!(busy.is_at_end() && idle.is_at_end());
    proxy.wait();
}
