//! What a runtime leaves behind, and who gets a turn on it.

mod common;

use std::cell::Cell;
use std::future::{poll_fn, ready};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use corepool_core::backend::{Backend, Bind, Conn, Listener, SendBuf};
use corepool_monoio::{Config, Monoio, MonoioListener};

use common::{attach, descriptors, on_a_runtime, pair, turn, watched};

/// Descriptors are counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn nothing_is_left_of_a_run() {
    let _alone = ALONE.lock();
    watched(|| {
        let run = || {
            let bind = Bind {
                address: "127.0.0.1:0".parse().expect("an address"),
                listeners: 1,
                backlog: 8,
                v6_only: false,
            };
            let (address, mut group) = Monoio::bind(&bind).expect("bound");
            let bound = group.pop().expect("one listener");
            on_a_runtime(async || {
                let mut listener = MonoioListener::attach(bound).expect("attached");
                assert!(poll_fn(|cx| Poll::Ready(listener.poll_ready(cx))).await.is_pending());
                let _client = TcpStream::connect(address).expect("a connection");
                poll_fn(|cx| listener.poll_ready(cx)).await.expect("ready");
                let (socket, _) = listener.try_accept().expect("no error").expect("a connection");
                let mut accepted = <Monoio as Backend>::Conn::attach(socket.into()).expect("attached");
                let (ours, _theirs) = pair();
                let mut waits = attach(ours);
                let (ours, _theirs_full) = pair();
                let mut sends = attach(ours);
                sends.start_send(SendBuf::Vec(vec![0; 64 << 20]));
                for _ in 0..3 {
                    assert!(poll_fn(|cx| Poll::Ready(accepted.poll_recv(cx))).await.is_pending());
                    assert!(poll_fn(|cx| Poll::Ready(waits.poll_readable(cx))).await.is_pending());
                    assert!(poll_fn(|cx| Poll::Ready(sends.poll_flush(cx))).await.is_pending());
                    assert!(poll_fn(|cx| Poll::Ready(listener.poll_ready(cx))).await.is_pending());
                    turn().await;
                }
                for conn in [&mut accepted, &mut waits, &mut sends] {
                    poll_fn(|cx| conn.poll_close(cx)).await;
                }
                poll_fn(|cx| listener.poll_close(cx)).await;
                woken_from_another_thread().await; // which leaves a read of an eventfd in the ring
                assert_eq!(Monoio::lent_buffers(), 0);
            });
        };
        run(); // whatever a process opens once
        let before = descriptors();
        for _ in 0..50 {
            run();
        }
        assert_eq!(descriptors(), before);
    });
}

#[test]
fn a_closed_connection_has_left_no_descriptor() {
    let _alone = ALONE.lock();
    watched(|| {
        on_a_runtime(async || {
            let (ours, mut theirs) = pair();
            let with_it = descriptors();
            let mut conn = attach(ours);
            assert!(poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await.is_pending());
            poll_fn(|cx| conn.poll_close(cx)).await;
            assert_eq!(descriptors(), with_it - 1);
            assert_eq!(theirs.read(&mut [0]).expect("an end"), 0);
        });
    });
}

#[test]
fn a_connection_that_is_dropped_gives_its_buffers_and_its_descriptor_back() {
    let _alone = ALONE.lock();
    watched(|| {
        on_a_runtime(async || {
            let (ours, mut theirs) = pair();
            let with_it = descriptors();
            let mut conn = attach(ours);
            conn.start_send(SendBuf::Pooled(conn.buffer()));
            assert!(poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await.is_pending());
            assert_eq!(Monoio::lent_buffers(), 2);
            drop(conn);
            while Monoio::lent_buffers() > 0 || descriptors() >= with_it {
                turn().await; // or stuck
            }
            theirs.set_read_timeout(Some(Duration::from_secs(10))).expect("an option");
            assert_eq!(theirs.read(&mut [0]).expect("an end"), 0);
        });
    });
}

#[test]
fn a_closed_listener_frees_its_address_at_once() {
    let _alone = ALONE.lock();
    watched(|| {
        on_a_runtime(async || {
            let bind = Bind {
                address: "127.0.0.1:0".parse().expect("an address"),
                listeners: 1,
                backlog: 8,
                v6_only: false,
            };
            let (address, mut group) = Monoio::bind(&bind).expect("bound");
            let mut listener = MonoioListener::attach(group.pop().expect("one listener")).expect("attached");
            for _ in 0..2 {
                assert!(poll_fn(|cx| Poll::Ready(listener.poll_ready(cx))).await.is_pending());
                turn().await;
            }
            poll_fn(|cx| listener.poll_close(cx)).await;
            let refused = TcpStream::connect(address).expect_err("nobody listens");
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
            TcpListener::bind(address).expect("free");
        });
    });
}

#[test]
fn beyond_the_limit_whoever_waits_holds_no_buffer() {
    let _alone = ALONE.lock();
    watched(|| {
        let mut config = Config::default();
        config.waiting_buffers_max = 3;
        Monoio::run(None, &config, |_driver| async {
            let (ours, mut theirs): (Vec<_>, Vec<_>) = (0..10).map(|_| pair()).unzip();
            let mut conns: Vec<_> = ours.into_iter().map(attach).collect();
            for _ in 0..3 {
                for conn in &mut conns {
                    assert!(poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await.is_pending());
                }
                turn().await;
            }
            assert_eq!(Monoio::lent_buffers(), 3);
            let mut loans = Vec::new();
            for (conn, peer) in conns.iter_mut().zip(&mut theirs) {
                peer.write_all(b"ping").expect("sent");
                loans.push(poll_fn(|cx| conn.poll_recv(cx)).await.expect("no error").expect("bytes"));
            }
            assert!(loans.iter().all(|loan| **loan == *b"ping"));
            for conn in &mut conns {
                poll_fn(|cx| conn.poll_close(cx)).await;
            }
        })
        .expect("a runtime");
    });
}

#[test]
fn tasks_that_wake_themselves_starve_nobody() {
    let _alone = ALONE.lock();
    watched(|| {
        for config in each_way_of_completing() {
            Monoio::run(None, &config, |_driver| async {
                let over = Rc::new(Cell::new(false));
                let turns: Vec<_> = (0..20).map(|_| Rc::new(Cell::new(0_u32))).collect();
                let ended = Rc::new(Cell::new(0));
                for mine in &turns {
                    let (mine, over, ended) = (Rc::clone(mine), Rc::clone(&over), Rc::clone(&ended));
                    Monoio::spawn_local(async move {
                        while !over.get() {
                            mine.set(mine.get() + 1);
                            yield_now().await;
                        }
                        ended.set(ended.get() + 1);
                    });
                }
                everything_else_goes_on().await;
                over.set(true);
                while ended.get() < turns.len() {
                    turn().await;
                }
                let (least, most) = (turns.iter().min(), turns.iter().max());
                let (least, most) = (least.expect("twenty").get(), most.expect("twenty").get());
                assert!(least > 0 && most <= 2 * least + 100, "from {least} to {most} turns");
            })
            .expect("a runtime");
        }
    });
}

#[test]
fn tasks_that_wake_each_other_starve_nobody() {
    let _alone = ALONE.lock();
    watched(|| {
        for config in each_way_of_completing() {
            Monoio::run(None, &config, |_driver| async {
                let over = Rc::new(Cell::new(false));
                let ended = Rc::new(Cell::new(0));
                let wakers: Rc<[Cell<Option<Waker>>; 2]> = Rc::default();
                for me in 0..2 {
                    let (over, ended, wakers) = (Rc::clone(&over), Rc::clone(&ended), Rc::clone(&wakers));
                    Monoio::spawn_local(async move {
                        poll_fn(|cx| {
                            wakers[me].set(Some(cx.waker().clone()));
                            if let Some(other) = wakers[1 - me].take() {
                                other.wake();
                            }
                            if over.get() { Poll::Ready(()) } else { Poll::Pending }
                        })
                        .await;
                        ended.set(ended.get() + 1);
                    });
                }
                everything_else_goes_on().await;
                over.set(true);
                while ended.get() < 2 {
                    turn().await;
                }
            })
            .expect("a runtime");
        }
    });
}

/// Whatever completes operations: each is a different way to be starved.
fn each_way_of_completing() -> [Config; 3] {
    let [defer, mut coop, mut interrupt] = [(); 3].map(|()| Config::default());
    (coop.defer_taskrun, interrupt.defer_taskrun) = (false, false);
    interrupt.coop_taskrun = false;
    [defer, coop, interrupt]
}

/// Timers, connections, and wakes from another thread.
async fn everything_else_goes_on() {
    for _ in 0..20 {
        Monoio::sleep(Duration::from_millis(1)).await;
    }
    let (ours, mut theirs) = pair();
    let peer = thread::spawn(move || {
        for _ in 0..100 {
            theirs.write_all(b"ping").expect("sent");
            theirs.read_exact(&mut [0; 4]).expect("received");
        }
    });
    let mut conn = attach(ours);
    for _ in 0..100 {
        let bytes = poll_fn(|cx| conn.poll_recv(cx)).await.expect("no error").expect("bytes");
        conn.start_send(SendBuf::Loan(bytes));
        poll_fn(|cx| conn.poll_flush(cx)).await.expect("sent");
    }
    poll_fn(|cx| conn.poll_close(cx)).await;
    peer.join().expect("no panic");
    woken_from_another_thread().await;
}

async fn woken_from_another_thread() {
    let rung = Arc::new(AtomicBool::new(false));
    let ring = Arc::clone(&rung);
    let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
    let other = thread::spawn(move || {
        ring.store(true, Ordering::Release);
        waker.wake();
    });
    poll_fn(|_| if rung.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }).await;
    other.join().expect("no panic");
}

#[test]
fn each_knob_runs() {
    let _alone = ALONE.lock();
    watched(|| {
        for bits in 0..8_u32 {
            let mut config = Config::default();
            config.ring_entries = 1; // raised
            config.coop_taskrun = bits & 1 != 0;
            config.single_issuer = bits & 2 != 0;
            config.defer_taskrun = bits & 4 != 0;
            let driver = Monoio::run(None, &config, ready::<&'static str>).expect("a runtime");
            assert_eq!(driver, "io_uring");
            on_each(&config);
        }
    });
}

/// An exchange on a runtime with these knobs.
fn on_each(config: &Config) {
    let (ours, mut theirs) = pair();
    theirs.write_all(b"ping").expect("sent");
    Monoio::run(None, config, |_driver| async {
        let mut conn = attach(ours);
        let bytes = poll_fn(|cx| conn.poll_recv(cx)).await.expect("no error").expect("bytes");
        conn.start_send(SendBuf::Loan(bytes));
        poll_fn(|cx| conn.poll_flush(cx)).await.expect("sent");
        assert!(poll_fn(|cx| Poll::Ready(conn.poll_recv(cx))).await.is_pending());
        poll_fn(|cx| conn.poll_close(cx)).await;
    })
    .expect("a runtime");
    let mut echo = Vec::new();
    theirs.read_to_end(&mut echo).expect("received");
    assert_eq!(echo, b"ping");
}

/// Is ready at the second poll, and wakes itself in between.
async fn yield_now() {
    let mut was_polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
