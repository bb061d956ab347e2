//! What a pool does by itself, at the sweeps of its worker.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use corepool_core::WorkerInfo;
use corepool_core::pool::{Lease, Retired};

use super::pool::until;
use crate::bench::on;
use crate::harness::SocketBackend;
use crate::tool::{Do, Tools, expect_conserved, tools};

const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn the_least_idle_are_made_from_the_start_and_again<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, worker, script) = tools::<B>(5, |builder| builder.min_idle(3));
        until::<B>(|| pool.stats().idle == 3).await;
        Lease::discard(pool.get().await.unwrap());
        let held = pool.get().await.unwrap();
        worker.upkeep().sweep(B::now());
        until::<B>(|| pool.stats().idle == 3).await;
        assert_eq!((script.made.get(), pool.stats().size), (5, 4));
        drop(held);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn warming_up_waits_for_them_and_tells_why_it_cannot<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(5, |builder| builder.min_idle(3));
        script.create.set(Do::Fail);
        assert_eq!(pool.warm_up().await, Err("told to fail"));
        pool.warm_up().await.unwrap();
        assert_eq!((pool.stats().idle, script.made.get()), (3, 3));
        expect_conserved(&pool, 0);
    });
}

pub(super) fn never_more_are_made_than_there_is_room_for<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, worker, script) = tools::<B>(2, |builder| builder.min_idle(2));
        pool.warm_up().await.unwrap();
        let held = pool.get().await.unwrap();
        sweep_often::<B>(&worker).await;
        assert_eq!((script.live_max.get(), pool.stats().idle), (2, 1));
        drop(held);
    });
}

pub(super) fn those_that_are_idle_for_too_long_are_dropped_but_the_least<B: SocketBackend>() {
    on::<B, _>(async || {
        let configure = |it: corepool_core::pool::Builder<_>| {
            it.min_idle(1).idle_timeout(Some(MINUTE)).max_lifetime(None)
        };
        let (pool, worker, _script) = tools::<B>(3, configure);
        drop([pool.get().await.unwrap(), pool.get().await.unwrap(), pool.get().await.unwrap()]);
        let begun = B::now();
        worker.upkeep().sweep(begun + MINUTE / 2);
        drop(pool.get().await.unwrap()); // this one is young again
        worker.upkeep().sweep(begun + MINUTE + MINUTE / 4);
        assert_eq!((pool.stats().idle, pool.stats().retired.idle), (1, 2));
        worker.upkeep().sweep(begun + 10 * MINUTE);
        assert_eq!((pool.stats().idle, pool.stats().retired.idle), (1, 2));
        expect_conserved(&pool, 0);
    });
}

pub(super) fn those_that_are_too_old_are_dropped_and_none_earlier_than_the_jitter<B: SocketBackend>() {
    on::<B, _>(async || {
        let configure = |it: corepool_core::pool::Builder<_>| {
            it.max_lifetime(Some(10 * MINUTE)).lifetime_jitter(0.5).idle_timeout(None)
        };
        let (pool, worker, _script) = tools::<B>(100, configure);
        let mut leases = Vec::new();
        for _ in 0..100 {
            leases.push(pool.get().await.unwrap());
        }
        let held = leases.pop();
        drop(leases);
        let begun = B::now();
        worker.upkeep().sweep(begun + 5 * MINUTE - MINUTE / 2);
        assert_eq!(pool.stats().idle, 99);
        worker.upkeep().sweep(begun + 7 * MINUTE + MINUTE / 2);
        assert!((10..90).contains(&pool.stats().idle), "{:?}", pool.stats());
        worker.upkeep().sweep(begun + 10 * MINUTE);
        assert_eq!((pool.stats().idle, pool.stats().retired.lifetime), (0, 99));
        drop(held);
        assert_eq!(pool.stats().retired.lifetime, 100, "one that is lent out is dropped when it comes back");
        expect_conserved(&pool, 0);
    });
}

pub(super) fn what_cannot_be_made_is_tried_again_less_and_less_often<B: SocketBackend>() {
    on::<B, _>(async || {
        for told in [Do::Fail, Do::Panic, Do::Well] {
            let (pool, worker, script) = tools::<B>(2, |builder| builder);
            drop(pool);
            let (pool, worker) = (rebuilt(&worker, &script), worker);
            let mut attempts = 0;
            for _ in 0..100 {
                attempts += usize::from(script.create.replace(told) == Do::Well);
                sweep_often::<B>(&worker).await;
            }
            let made = script.made.get();
            match told {
                Do::Well => assert_eq!(made, 1),
                _ => assert!(made == 0 && (2..20).contains(&attempts), "{attempts} attempts"),
            }
            script.create.set(Do::Well);
            expect_conserved(&pool, 0);
        }
    });
}

fn rebuilt(worker: &WorkerInfo, script: &Rc<crate::tool::Script>) -> Tools {
    Tools::builder().max_size(2).min_idle(1).build(worker, Rc::clone(script)).unwrap()
}

pub(super) fn closing_ends_what_is_being_made<B: SocketBackend>() {
    on::<B, _>(async || {
        let (worker, script) = (WorkerInfo::alone::<B>(), Rc::<crate::tool::Script>::default());
        script.create.set(Do::Hang);
        let pool = rebuilt(&worker, &script);
        until::<B>(|| script.create.get() == Do::Well).await; // it hangs
        worker.upkeep().close();
        pool.drained().await;
        expect_conserved(&pool, 0);
    });
}

pub(super) fn hooks_see_everything_that_happens<B: SocketBackend>() {
    on::<B, _>(async || {
        let seen: Rc<RefCell<Vec<(&str, usize)>>> = Rc::default();
        let note = |what: &'static str| {
            let seen = Rc::clone(&seen);
            move |tool: &mut crate::tool::Tool| seen.borrow_mut().push((what, tool.number))
        };
        let (create, acquire, release, retire) =
            (note("create"), note("acquire"), note("release"), note("retire"));
        let (pool, _worker, _script) = tools::<B>(1, |builder| {
            let retire = move |tool: &mut _, reason| {
                assert_eq!(reason, Retired::Discarded);
                retire(tool);
            };
            builder.on_create(create).on_acquire(acquire).on_release(release).on_retire(retire)
        });
        drop(pool.get().await.unwrap());
        Lease::discard(pool.get().await.unwrap());
        let expected = [("create", 1), ("acquire", 1), ("release", 1), ("acquire", 1), ("retire", 1)];
        assert_eq!(*seen.borrow(), expected);
    });
}

/// Sweeps, and gives tasks time to do what they do at once.
async fn sweep_often<B: SocketBackend>(worker: &WorkerInfo) {
    worker.upkeep().sweep(B::now());
    for _ in 0..3 {
        crate::bench::turn::<B>().await;
    }
}
