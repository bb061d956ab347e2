//! The simulated world itself: the same seed gives the same history, time is virtual, and its TCP is TCP.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use corepool_core::backend::{Backend, Bind, Conn, Detached, Listener, SendBuf};
use corepool_testkit::sim::{
    Client, Config as World, Simulated, SimulatedConn, SimulatedListener, invariant, random, run, seeds,
    spawn,
};

const ADDRESS: ([u8; 4], u16) = ([10, 0, 0, 1], 0);

fn listen(backlog: u32) -> (SocketAddr, SimulatedListener) {
    let bind = Bind { address: ADDRESS.into(), listeners: 1, backlog, v6_only: false };
    let (address, mut bound) = Simulated::bind(&bind).unwrap();
    (address, SimulatedListener::attach(bound.remove(0)).unwrap())
}

async fn accept(listener: &mut SimulatedListener) -> SimulatedConn {
    loop {
        poll_fn(|cx| listener.poll_ready(cx)).await.unwrap();
        if let Some((socket, _peer)) = listener.try_accept().unwrap() {
            return SimulatedConn::attach(socket.into()).unwrap();
        }
    }
}

async fn recv(conn: &mut SimulatedConn) -> io::Result<Option<Vec<u8>>> {
    Ok(poll_fn(|cx| conn.poll_recv(cx)).await?.map(|loan| loan.to_vec()))
}

/// A client and our end of its connection.
async fn pair() -> (Client, SimulatedConn) {
    let (address, mut listener) = listen(1);
    let client = spawn(Client::connect(address));
    let conn = accept(&mut listener).await;
    (client.join().await.unwrap(), conn)
}

/// The order in which ten tasks get their turns, and what a random source says in between.
fn history(seed: u64) -> Vec<(usize, u64)> {
    run(&World::seed(seed), async || {
        let events = Rc::new(RefCell::new(Vec::new()));
        let tasks: Vec<_> = (0..10)
            .map(|index| {
                let events = Rc::clone(&events);
                spawn(async move {
                    for _ in 0..3 {
                        events.borrow_mut().push((index, random()));
                        Simulated::sleep(Duration::from_secs(1)).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.join().await;
        }
        events.take()
    })
}

#[test]
fn a_seed_decides_the_history() {
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}

#[test]
fn time_passes_only_when_nothing_can_run() {
    let real = Instant::now();
    run(&World::default(), async || {
        let begun = Simulated::now();
        let sleepers = [30, 10, 20].map(|minutes| spawn(Simulated::sleep(Duration::from_secs(60 * minutes))));
        for sleeper in sleepers {
            sleeper.join().await;
        }
        assert_eq!(Simulated::now() - begun, Duration::from_secs(60 * 30));
    });
    assert!(real.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_deadlock_is_found() {
    let stuck = catch_unwind(|| run(&World::default(), pending::<()>));
    assert!(stuck.unwrap_err().downcast_ref::<&str>().unwrap().starts_with("deadlock"));
}

#[test]
fn an_invariant_is_checked_after_every_step() {
    let broken = || {
        run(&World::default(), async || {
            let origin = Simulated::now();
            invariant(move || assert!(Simulated::now() - origin < Duration::from_secs(2), "as was wished"));
            Simulated::sleep(Duration::from_secs(1)).await;
            Simulated::sleep(Duration::from_secs(1)).await;
        });
    };
    assert_eq!(catch_unwind(broken).unwrap_err().downcast_ref::<&str>(), Some(&"as was wished"));
}

#[test]
fn what_is_left_behind_is_found() {
    let leaks = || {
        run(&World::default(), async || {
            let _task = spawn(pending::<()>());
        });
    };
    catch_unwind(leaks).unwrap_err();
}

#[test]
fn bytes_arrive_in_order_in_pieces_of_any_size() {
    seeds(0..100, World::seed, async |seed| {
        let bytes: Vec<u8> = (0..3000 + seed).map(|number| (number % 251) as u8).collect();
        let (client, mut conn) = pair().await;
        let echo = spawn(async move {
            while let Some(some) = poll_fn(|cx| conn.poll_recv(cx)).await.unwrap() {
                conn.start_send(SendBuf::Loan(some));
                poll_fn(|cx| conn.poll_flush(cx)).await.unwrap();
            }
        });
        let client = Rc::new(client);
        let writer = spawn({
            let (client, bytes) = (Rc::clone(&client), bytes.clone());
            async move {
                client.write_all(&bytes).await.unwrap();
                client.finish().unwrap();
            }
        });
        assert_eq!(client.read_to_end().await.unwrap(), bytes);
        writer.join().await;
        echo.join().await;
    });
}

#[test]
fn a_connection_that_is_detached_at_any_moment_loses_nothing() {
    seeds(0..100, World::seed, async |_seed| {
        let (client, mut conn) = pair().await;
        let writer = spawn(async move { client.write_all(&[7; 2000]).await.unwrap() });
        let mut received = 0;
        while received < 2000 {
            let polled = poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await;
            if let Poll::Ready(some) = polled {
                received += some.unwrap().unwrap().len();
            }
            let Detached { socket, unread } = poll_fn(|cx| conn.poll_detach(cx)).await.unwrap();
            conn = SimulatedConn::attach(Detached { socket, unread }).unwrap();
        }
        assert_eq!(recv(&mut conn).await.unwrap(), None);
        writer.join().await;
    });
}

#[test]
fn a_reset_is_reported_once_and_then_the_end() {
    seeds(0..50, World::seed, async |_seed| {
        let (client, mut conn) = pair().await;
        let resetter = spawn(async move { client.reset() });
        assert_eq!(recv(&mut conn).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!(recv(&mut conn).await.unwrap(), None);
        conn.start_send(SendBuf::Static(b"?"));
        assert_eq!(poll_fn(|cx| conn.poll_flush(cx)).await.unwrap_err().kind(), ErrorKind::BrokenPipe);
        resetter.join().await;
    });
}

#[test]
fn a_close_with_unread_input_resets_and_one_without_does_not() {
    seeds(0..50, World::seed, async |seed| {
        let (client, mut conn) = pair().await;
        client.write_all(b"a").await.unwrap();
        if seed % 2 == 0 {
            recv(&mut conn).await.unwrap();
        }
        poll_fn(|cx| conn.poll_close(cx)).await;
        let mut byte = [0];
        match client.read(&mut byte).await {
            Ok(count) => assert_eq!((count, seed % 2), (0, 0)),
            Err(error) => assert_eq!((error.kind(), seed % 2), (ErrorKind::ConnectionReset, 1)),
        }
    });
}

#[test]
fn a_kick_ends_a_receive_and_leaves_the_other_way_open() {
    seeds(0..50, World::seed, async |_seed| {
        let (client, mut conn) = pair().await;
        let polled = poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await;
        assert!(polled.is_pending());
        conn.shutdown(Shutdown::Read).unwrap();
        assert_eq!(recv(&mut conn).await.unwrap(), None);
        conn.start_send(SendBuf::Static(b"bye"));
        poll_fn(|cx| conn.poll_flush(cx)).await.unwrap();
        poll_fn(|cx| conn.poll_close(cx)).await;
        assert_eq!(client.read_to_end().await.unwrap(), b"bye");
    });
}

#[test]
fn a_peer_that_does_not_read_stops_a_send_and_shutting_down_ends_it() {
    seeds(0..50, World::seed, async |_seed| {
        let (_client, mut conn) = pair().await;
        conn.start_send(SendBuf::Vec(vec![0; 1 << 20]));
        for _ in 0..10 {
            let polled = poll_fn(|cx| Poll::Ready(conn.poll_flush(cx))).await;
            assert!(polled.is_pending());
        }
        conn.shutdown(Shutdown::Both).unwrap();
        poll_fn(|cx| conn.poll_flush(cx)).await.unwrap_err();
    });
}

#[test]
fn addresses_are_claimed_while_somebody_listens() {
    run(&World::default(), async || {
        let bind = |address: SocketAddr| Bind { address, listeners: 2, backlog: 1, v6_only: false };
        let (address, group) = Simulated::bind(&bind(ADDRESS.into())).unwrap();
        let wildcard = SocketAddr::from(([0; 4], address.port()));
        for taken in [address, wildcard] {
            assert_eq!(Simulated::bind(&bind(taken)).unwrap_err().kind(), ErrorKind::AddrInUse);
        }
        drop(group);
        assert_eq!(Client::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        Simulated::bind(&bind(wildcard)).unwrap();
    });
}

#[test]
fn a_full_queue_makes_clients_wait_and_a_closed_one_resets_them() {
    run(&World::default(), async || {
        let (address, mut listener) = listen(1);
        let queued = Client::connect(address).await.unwrap();
        let waiting = spawn(Client::connect(address));
        Simulated::sleep(Duration::from_secs(3)).await;
        drop(accept(&mut listener).await);
        let second = waiting.join().await.unwrap();
        poll_fn(|cx| listener.poll_close(cx)).await;
        assert_eq!(queued.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(second.read(&mut [0]).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn sockets_may_outlive_their_world() {
    let (client, conn) = run(&World::default(), pair);
    conn.shutdown(Shutdown::Both).unwrap();
    drop((client, conn));
    catch_unwind(AssertUnwindSafe(Simulated::now)).unwrap_err();
}
