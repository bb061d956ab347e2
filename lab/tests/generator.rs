//! What the generator makes of servers that reply rightly, wrongly or not at
//! all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use corepool_lab::generator::{Faults, Fleet};
use corepool_lab::workload::Workload;
use support::{echo, replying, server};

const SLICE: Duration = Duration::from_millis(50);

fn workload(connections: usize, bytes: usize) -> Workload {
    let mut workload = Workload::default();
    workload.connections = connections;
    workload.bytes = bytes;
    workload
}

/// Requests answered and lost in one slice.
fn slice(address: SocketAddr, workload: &Workload) -> (u64, Faults) {
    let mut fleet = Fleet::connect(address, workload).unwrap();
    let tally = fleet.run(SLICE).unwrap();
    assert_eq!(tally.requests, fleet.latencies().len());
    (tally.requests, fleet.take_faults())
}

#[test]
fn messages_of_any_size_come_back_whole() {
    let address = echo();
    for bytes in [1, 511, 512, 16 * 1024, 70_000, 4 * 1024 * 1024] {
        let (requests, faults) = slice(address, &workload(3, bytes));
        assert!(requests >= 3, "{bytes} B: {requests} replies");
        assert_eq!(faults, Faults::default(), "{bytes} B");
    }
}

#[test]
fn slices_follow_each_other_on_the_same_connections() {
    let mut fleet = Fleet::connect(echo(), &workload(8, 64)).unwrap();
    for _ in 0..3 {
        assert!(fleet.run(SLICE).unwrap().requests >= 8);
    }
    assert_eq!(fleet.take_faults(), Faults::default());
}

#[test]
fn connections_are_opened_anew_after_their_share_of_requests() {
    let mut workload = workload(4, 64);
    workload.requests_per_connection = 2;
    // Who sends a third request on a connection is not answered.
    let address = replying(|earlier, bytes| (earlier < 2).then(|| bytes.to_vec()));
    let (requests, faults) = slice(address, &workload);
    assert!(requests >= 4);
    assert_eq!(faults, Faults::default());
}

#[test]
fn a_single_wrong_byte_is_found() {
    let address = replying(|earlier, bytes| {
        let mut reply = bytes.to_vec();
        if earlier == 3 {
            *reply.last_mut()? ^= 1;
        }
        Some(reply)
    });
    let (requests, faults) = slice(address, &workload(2, 100));
    assert_eq!((requests, faults.wrong_bytes), (6, 2), "{faults:?}");
}

#[test]
fn the_reply_to_an_earlier_request_is_not_taken_for_the_right_one() {
    let first = std::sync::Mutex::new(None);
    let address = replying(move |_, bytes| {
        let mut first = first.lock().ok()?;
        Some(first.get_or_insert_with(|| bytes.to_vec()).clone())
    });
    let (requests, faults) = slice(address, &workload(1, 64));
    assert_eq!((requests, faults.wrong_bytes), (1, 1), "{faults:?}");
}

#[test]
fn more_bytes_than_were_asked_for_are_wrong_bytes() {
    let address = replying(|_, bytes| Some([bytes, b"x"].concat()));
    let (_, faults) = slice(address, &workload(1, 64));
    assert_eq!(faults.wrong_bytes, 1, "{faults:?}");
}

#[test]
fn a_connection_closed_in_the_middle_of_a_reply_is_a_lost_request() {
    let address = server(|mut stream| {
        let mut request = [0; 64];
        stream.read_exact(&mut request).unwrap();
        std::io::Write::write_all(&mut stream, &request[..10]).unwrap();
    });
    let (requests, faults) = slice(address, &workload(1, 64));
    assert_eq!((requests, faults.closed), (0, 1), "{faults:?}");
}

#[test]
fn a_connection_that_is_reset_is_a_lost_request() {
    // Closed with the request unread.
    let address = server(|stream| {
        stream.peek(&mut [0]).unwrap();
    });
    let (requests, faults) = slice(address, &workload(1, 64));
    assert_eq!((requests, faults.broken), (0, 1), "{faults:?}");
}

#[test]
fn a_server_that_is_not_there_is_a_lost_request_for_each_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (requests, faults) = slice(address, &workload(5, 64));
    assert_eq!((requests, faults.connect), (0, 5), "{faults:?}");
}

#[test]
fn a_lost_connection_is_tried_again_by_the_next_slice() {
    let address = replying(|earlier, bytes| (earlier < 3).then(|| bytes.to_vec()));
    let mut fleet = Fleet::connect(address, &workload(1, 64)).unwrap();
    for _ in 0..2 {
        assert_eq!(fleet.run(SLICE).unwrap().requests, 3);
        assert_eq!(fleet.take_faults().total(), 1);
    }
}

#[test]
fn a_server_that_does_not_reply_fails_the_slice_after_a_while() {
    // It reads everything, so that its socket is never full.
    let address = server(|mut stream| while let Ok(1..) = stream.read(&mut [0; 4096]) {});
    let (requests, faults) = slice(address, &workload(2, 64));
    assert_eq!((requests, faults.stalled), (0, 2), "{faults:?}");
}
