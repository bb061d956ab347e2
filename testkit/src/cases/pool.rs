//! Who gets what of a pool, and when.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use corepool_core::pool::{AcquireError, Builder, Lease};

use crate::bench::{on, race};
use crate::harness::SocketBackend;
use crate::task::spawn;
use crate::tool::{Acquired, Do, Tools, expect_conserved, tools};

pub(super) fn lends_what_came_back_and_makes_what_is_missing<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(2, |builder| builder);
        let first = pool.get().await.unwrap();
        assert_eq!(first.number, 1);
        drop(first);
        let [again, second] = [pool.get().await.unwrap(), pool.get().await.unwrap()];
        assert_eq!([again.number, second.number], [1, 2]);
        Lease::discard(again);
        let third = pool.get().await.unwrap();
        assert_eq!((third.number, script.live.get()), (3, 2));
        let taken = Lease::take(third);
        expect_conserved_with(&pool, 1, 1);
        drop((taken, second));
        expect_conserved(&pool, 0);
    });
}

pub(super) fn who_waits_is_served_in_turn<B: SocketBackend>() {
    const MANY: usize = 50;
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        let held = pool.get().await.unwrap();
        let served: Rc<Cell<usize>> = Rc::default();
        let mut tasks = Vec::new();
        for turn in 0..MANY {
            let (pool, served) = (pool.clone(), Rc::clone(&served));
            let waiting = pool.stats().waiting;
            let own = pool.clone();
            tasks.push(spawn::<B, _>(async move {
                let lease = own.get().await.unwrap();
                assert_eq!(served.replace(turn + 1), turn, "somebody has overtaken");
                drop(lease);
            }));
            until::<B>(|| pool.stats().waiting > waiting).await;
        }
        drop(held);
        for task in tasks {
            task.join().await;
        }
        assert_eq!((script.made.get(), pool.stats().waited), (1, MANY as u64));
        expect_conserved(&pool, 0);
    });
}

/// Not all of them, as in a thundering herd.
pub(super) fn one_return_wakes_one_waiter<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(1, |builder| builder);
        let mut held = Some(pool.get().await.unwrap());
        let mut waiters: Vec<_> = (0..10).map(|_| Waiter::new(&pool)).collect();
        for waiter in &mut waiters {
            assert!(waiter.poll().is_pending());
        }
        for turn in 0..waiters.len() {
            drop(held.take());
            let woken: Vec<_> = waiters.iter().map(Waiter::woken).collect();
            let expected: Vec<_> = (0..waiters.len()).map(|other| usize::from(other <= turn)).collect();
            assert_eq!(woken, expected);
            let Poll::Ready(lease) = waiters[turn].poll() else { panic!("woken for nothing") };
            held = Some(lease.unwrap());
        }
        drop(held);
        drop(waiters);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn one_that_gives_up_passes_its_turn_on<B: SocketBackend>() {
    on::<B, _>(async || {
        // Before its turn has come; when it has been given what came back; when it has been given an empty slot.
        for (returned, discarded) in [(false, false), (true, false), (true, true)] {
            let (pool, _worker, _script) = tools::<B>(1, |builder| builder);
            let mut held = Some(pool.get().await.unwrap());
            let [mut first, mut second] = [(); 2].map(|()| Waiter::new(&pool));
            assert!(first.poll().is_pending() && second.poll().is_pending());
            if let Some(lease) = held.take_if(|_| returned) {
                if discarded {
                    Lease::discard(lease)
                } else {
                    drop(lease)
                }
                assert_eq!((first.woken(), second.woken()), (1, 0));
            }
            drop(first);
            drop(held);
            assert_eq!(second.woken(), 1);
            assert!(second.poll().is_ready());
            expect_conserved(&pool, 0);
        }
    });
}

pub(super) fn nobody_overtakes_who_was_woken<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(1, |builder| builder);
        let held = pool.get().await.unwrap();
        let mut first = Waiter::new(&pool);
        assert!(first.poll().is_pending());
        drop(held);
        assert!(pool.try_get().is_none(), "it is the first one's");
        assert!(Waiter::new(&pool).poll().is_pending());
        assert!(first.poll().is_ready());
    });
}

pub(super) fn what_is_discarded_makes_room_for_who_waits<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(1, |builder| builder);
        let held = pool.get().await.unwrap();
        let mut waiter = Waiter::new(&pool);
        assert!(waiter.poll().is_pending());
        Lease::discard(held);
        let Poll::Ready(Ok(lease)) = waiter.poll() else { panic!("there is room") };
        assert_eq!(lease.number, 2);
    });
}

pub(super) fn waiting_ends_with_the_timeout<B: SocketBackend>() {
    const TIMEOUT: Duration = Duration::from_millis(30);
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder.acquire_timeout(TIMEOUT));
        let held = pool.get().await.unwrap();
        let begun = Instant::now();
        let error = pool.get().await.unwrap_err();
        assert!(matches!(error, AcquireError::TimedOut { after: TIMEOUT }) && begun.elapsed() >= TIMEOUT);
        drop(held);
        for told in [&script.create, &script.check] {
            told.set(Do::Hang);
            if std::ptr::eq(told, &raw const script.create) {
                Lease::discard(pool.get().await.unwrap_or_else(|_| panic!("one is idle")));
            }
            assert!(matches!(pool.get().await, Err(AcquireError::TimedOut { .. })));
            expect_conserved(&pool, 0);
            drop(pool.get().await.unwrap());
        }
        assert_eq!(pool.stats().timed_out, 3);
    });
}

pub(super) fn only_so_many_may_wait<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(1, |builder| builder.max_waiting(1));
        let held = pool.get().await.unwrap();
        let mut waiter = Waiter::new(&pool);
        assert!(waiter.poll().is_pending());
        assert!(matches!(pool.get().await, Err(AcquireError::Crowded { waiting: 1 })));
        drop(held);
        assert!(waiter.poll().is_ready());
    });
}

pub(super) fn what_is_idle_can_be_had_without_a_wait<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(3, |builder| builder);
        assert!(pool.try_get().is_none(), "nothing is made for it");
        drop([pool.get().await.unwrap(), pool.get().await.unwrap()]);
        script.check.set(Do::Hang); // the check of the first that is tried
        let lease = pool.try_get().unwrap();
        assert_eq!((pool.stats().retired.check, pool.stats().idle), (1, 0));
        assert!(pool.try_get().is_none());
        drop(lease);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn a_new_size_counts_at_once<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(3, |builder| builder);
        let mut leases = Vec::new();
        for _ in 0..3 {
            leases.push(pool.get().await.unwrap());
        }
        pool.resize(1);
        let mut waiter = Waiter::new(&pool);
        assert!(waiter.poll().is_pending());
        leases.truncate(1);
        assert_eq!((pool.stats().size, pool.stats().retired.surplus), (1, 2));
        assert!(waiter.poll().is_pending(), "there is no room yet");
        pool.resize(2);
        assert!(waiter.poll().is_ready());
        drop((leases, waiter));
        expect_conserved(&pool, 0);
    });
}

pub(super) fn those_that_are_not_to_be_kept_are_dropped<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, _script) = tools::<B>(4, |builder| builder);
        let [first, second, third, held] =
            [pool.get().await, pool.get().await, pool.get().await, pool.get().await].map(Result::unwrap);
        drop([first, second, third]);
        let user = pool.clone();
        pool.retain(|tool| {
            drop(user.try_get()); // the pool may be used meanwhile
            tool.number == 2
        });
        assert_eq!((pool.stats().idle, pool.stats().retired.discarded), (1, 2));
        assert_eq!(pool.get().await.unwrap().number, 2);
        drop(held);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn closing_tells_who_waits_and_waits_for_who_has_a_lease<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(2, |builder| builder);
        let [held, idle] = [pool.get().await.unwrap(), pool.get().await.unwrap()];
        drop(idle);
        pool.resize(1);
        let mut waiter = Waiter::new(&pool);
        assert!(waiter.poll().is_pending());
        pool.close();
        assert!(matches!(waiter.poll(), Poll::Ready(Err(AcquireError::Closed))));
        assert!(matches!(pool.get().await, Err(AcquireError::Closed)));
        let mut drained = pin!(pool.drained());
        assert!(poll_fn(|cx| Poll::Ready(drained.as_mut().poll(cx))).await.is_pending());
        let task = spawn::<B, _>(async move { drop(held) });
        drained.await;
        task.join().await;
        assert_eq!(script.live.get(), 0);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn of_a_thousand_that_give_up_at_any_moment_nothing_is_lost<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(3, |builder| builder);
        let tasks: Vec<_> = (0..1000)
            .map(|_| {
                let pool = pool.clone();
                spawn::<B, _>(async move {
                    let patience = B::sleep(Duration::from_micros(fastrand::u64(0..3000)));
                    let _given_up = race(patience, async {
                        let lease = pool.get().await.unwrap();
                        B::sleep(Duration::from_micros(fastrand::u64(0..100))).await;
                        if fastrand::u8(..4) == 0 { Lease::discard(lease) } else { drop(lease) }
                    })
                    .await;
                })
            })
            .collect();
        for task in tasks {
            task.join().await;
        }
        assert!(script.live_max.get() <= 3, "{script:?}");
        expect_conserved(&pool, 0);
        for _ in 0..3 {
            let lease = pool.get().await.unwrap();
            drop(lease);
        }
    });
}

pub(super) fn impossible_sizes_are_named<B: SocketBackend>() {
    type Configure = fn(Builder<crate::tool::Tool>) -> Builder<crate::tool::Tool>;
    let wrong: [(&str, &str, Configure); 8] = [
        ("max_size", "max_size is 0: from 1 to 1048576", |it| it.max_size(0)),
        ("max_size", "max_size is 1048577: from 1 to 1048576", |it| it.max_size((1 << 20) + 1)),
        ("max_total", "max_total is 0: at least 1 for each of the 1 workers", |it| it.max_total(0)),
        ("min_idle", "min_idle is 5: from 0 to 4", |it| it.max_size(4).min_idle(5)),
        ("acquire_timeout", "acquire_timeout is 0: longer than 0", |it| it.acquire_timeout(Duration::ZERO)),
        ("idle_timeout", "idle_timeout is 0: longer than 0", |it| it.idle_timeout(Some(Duration::ZERO))),
        ("max_lifetime", "max_lifetime is 0: longer than 0", |it| it.max_lifetime(Some(Duration::ZERO))),
        ("lifetime_jitter", "lifetime_jitter is NaN: from 0 to 1", |it| it.lifetime_jitter(f64::NAN)),
    ];
    on::<B, _>(async || {
        let worker = corepool_core::WorkerInfo::alone::<B>();
        for (field, text, configure) in wrong {
            let error = configure(Builder::default()).build(&worker, Rc::default()).unwrap_err();
            assert_eq!((error.field, error.to_string().as_str()), (field, text));
        }
    });
}

/// As `expect_conserved`, when some were taken out of the pool and still live.
#[track_caller]
fn expect_conserved_with(pool: &Tools, lent: usize, taken: usize) {
    let script = pool.source();
    script.live.set(script.live.get() - taken);
    expect_conserved(pool, lent);
    script.live.set(script.live.get() + taken);
}

/// Waits until something holds that another task of this thread brings about.
pub(super) async fn until<B: SocketBackend>(reached: impl Fn() -> bool) {
    while !reached() {
        crate::bench::turn::<B>().await;
    }
}

/// Somebody who acquires, polled by hand, with a waker that counts.
pub(super) struct Waiter {
    acquiring: Pin<Box<dyn Future<Output = Acquired>>>,
    alarm: Arc<Alarm>,
}

#[derive(Default)]
struct Alarm(AtomicUsize);

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Waiter {
    pub(super) fn new(pool: &Tools) -> Self {
        let pool = pool.clone();
        Self { acquiring: Box::pin(async move { pool.get().await }), alarm: Arc::default() }
    }

    pub(super) fn poll(&mut self) -> Poll<Acquired> {
        let waker = Waker::from(Arc::clone(&self.alarm));
        self.acquiring.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// How often it was woken.
    fn woken(&self) -> usize {
        self.alarm.0.load(Ordering::SeqCst)
    }
}
