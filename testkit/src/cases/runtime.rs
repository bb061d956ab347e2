//! Starting a runtime, and what runs on it.

use std::cell::Cell;
use std::fs::File;
use std::future::poll_fn;
use std::mem::replace;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use corepool_core::cores::CoreId;
use rustix::thread::sched_getaffinity;

use crate::bench::{ConnExt, attach, on, turn};
use crate::harness::SocketBackend;
use crate::peer::{pair, start};
use crate::process::exhaust_descriptors;
use crate::task::spawn;

pub(super) fn runs_again_and_again_on_a_thread<B: SocketBackend>() {
    for round in 0..20 {
        assert_eq!(on::<B, _>(async || echo_once::<B>(round).await), round);
    }
}

pub(super) fn runs_on_several_threads_at_once<B: SocketBackend>() {
    let lives: Vec<_> = (0..4).map(|_| start(runs_again_and_again_on_a_thread::<B>)).collect();
    for life in lives {
        life.join();
    }
}

async fn echo_once<B: SocketBackend>(round: usize) -> usize {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        peer.exchange(1000);
        peer.half_close();
        peer.expect_end();
    });
    let mut conn = attach::<B>(socket);
    conn.echo().await.unwrap();
    conn.close().await;
    peer.join();
    round
}

pub(super) fn names_the_driver_that_runs<B: SocketBackend>() {
    let driver = B::run(None, &B::Config::default(), async |driver| driver).unwrap();
    assert!(["epoll", "io_uring"].contains(&driver), "{driver}");
}

pub(super) fn pins_its_thread<B: SocketBackend>() {
    let allowed = sched_getaffinity(None).unwrap();
    for core in (0..1024).filter(|core| allowed.is_set(*core)) {
        let affinity =
            B::run(Some(CoreId(core)), &B::Config::default(), async |_| sched_getaffinity(None).unwrap());
        let affinity = affinity.unwrap();
        assert!(affinity.is_set(core) && affinity.count() == 1);
    }
}

pub(super) fn refuses_a_core_that_is_not_there<B: SocketBackend>() {
    let called = Cell::new(false);
    let refused = B::run(Some(CoreId(1023)), &B::Config::default(), |_driver| {
        called.set(true);
        async {}
    });
    assert_eq!(refused.unwrap_err().backend, B::NAME);
    assert!(!called.get());
}

pub(super) fn starts_or_refuses_when_few_descriptors_are_left<B: SocketBackend>() {
    let mut started = 0;
    for left in 0..10 {
        // The more are left, the later it fails.
        let spare: Vec<_> = (0..left).map(|_| File::open("/dev/null").unwrap()).collect();
        let exhausted = exhaust_descriptors();
        drop(spare);
        let called = Cell::new(false);
        let outcome = B::run(None, &B::Config::default(), |_driver| {
            called.set(true);
            async {}
        });
        drop(exhausted);
        assert_eq!(called.get(), outcome.is_ok());
        match outcome {
            Ok(()) => started += 1,
            Err(refused) => assert_eq!(refused.backend, B::NAME),
        }
    }
    assert!((1..10).contains(&started), "{started} of 10 have started");
}

pub(super) fn runs_tasks_that_tasks_have_spawned<B: SocketBackend>() {
    on::<B, _>(async || {
        let count = Rc::new(Cell::new(0));
        for _ in 0..1000 {
            let count = Rc::clone(&count);
            let outer = spawn::<B, _>(async move {
                let inner = spawn::<B, _>(async move { count.set(count.get() + 1) });
                inner.join().await;
            });
            outer.join().await;
        }
        assert_eq!(count.get(), 1000);
    });
}

pub(super) fn wakes_tasks_from_another_thread<B: SocketBackend>() {
    on::<B, _>(async || {
        let (there, inbox) = async_channel::bounded(1);
        let (outbox, back) = async_channel::bounded(1);
        let other = start(move || {
            while let Ok(number) = inbox.recv_blocking() {
                outbox.send_blocking(number).unwrap();
            }
        });
        for number in 0..5000 {
            there.send(number).await.unwrap();
            assert_eq!(back.recv().await.unwrap(), number);
        }
        drop(there);
        other.join();
    });
}

pub(super) fn wakes_a_thousand_tasks_at_once_from_another_thread<B: SocketBackend>() {
    on::<B, _>(async || {
        for _ in 0..10 {
            let (bell, rung) = async_channel::bounded::<()>(1);
            let sleepers: Vec<_> = (0..1000)
                .map(|_| {
                    let rung = rung.clone();
                    spawn::<B, _>(async move { rung.recv().await.unwrap_err() })
                })
                .collect();
            turn::<B>().await;
            let ringer = start(move || drop(bell)); // which wakes everybody
            for sleeper in sleepers {
                sleeper.join().await;
            }
            ringer.join();
        }
    });
}

pub(super) fn a_task_that_wakes_itself_starves_nobody<B: SocketBackend>() {
    let (socket, peer) = pair();
    let peer = peer.spawn(|mut peer| {
        for _ in 0..100 {
            peer.exchange(1000);
        }
        peer.half_close();
        peer.expect_end();
    });
    on::<B, _>(async || {
        let over = Rc::new(Cell::new(false));
        let seen = Rc::clone(&over);
        let restless = spawn::<B, _>(async move {
            let deadline = Instant::now() + Duration::from_secs(5);
            while !seen.get() {
                assert!(Instant::now() < deadline, "everybody else has been starved");
                yield_now().await;
            }
        });
        let mut conn = attach::<B>(socket);
        conn.echo().await.unwrap();
        conn.close().await;
        B::sleep(Duration::from_millis(1)).await;
        over.set(true);
        restless.join().await;
    });
    peer.join();
}

/// Is ready at the second poll, and wakes itself in between.
async fn yield_now() {
    let mut polled = false;
    poll_fn(|cx| {
        if replace(&mut polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
