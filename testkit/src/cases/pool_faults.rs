//! Whatever a resource does, its slot is not lost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use corepool_core::pool::AcquireError;
use futures_util::FutureExt;

use super::pool::Waiter;
use crate::bench::on;
use crate::harness::SocketBackend;
use crate::tool::{Do, expect_conserved, tools};

pub(super) fn an_error_of_creation_comes_to_who_asked<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        script.create.set(Do::Fail);
        let error = pool.get().await.unwrap_err();
        assert!(matches!(error, AcquireError::Create("told to fail")), "{error}");
        assert_eq!(error.to_string(), "the pool could not make a new one: told to fail");
        assert_eq!(pool.stats().create_failed, 1);
        drop(pool.get().await.unwrap());
        expect_conserved(&pool, 0);
    });
}

pub(super) fn a_panic_of_creation_or_a_check<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        for told in [&script.create, &script.check] {
            told.set(Do::Panic);
            assert!(AssertUnwindSafe(pool.get()).catch_unwind().await.is_err());
            expect_conserved(&pool, 0);
            drop(pool.get().await.unwrap()); // idle, for the check
        }
        assert_eq!(pool.stats().retired.check, 1);
    });
}

pub(super) fn a_panic_of_recycling<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        let lease = pool.get().await.unwrap();
        script.recycle.set(Do::Panic);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(lease))).is_err());
        assert_eq!(pool.stats().retired.recycle, 1);
        expect_conserved(&pool, 0);
        drop(pool.get().await.unwrap());
    });
}

/// In the middle of what, nobody knows; so it is not even asked.
pub(super) fn a_lease_that_a_panic_drops_is_not_used_again<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        let lease = pool.get().await.unwrap();
        script.recycle.set(Do::Panic); // which would end the process
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _lease = lease;
            panic!("of its user");
        }));
        assert!(panicked.is_err());
        assert_eq!((script.recycle.take(), pool.stats().retired.recycle), (Do::Panic, 1));
        expect_conserved(&pool, 0);
    });
}

pub(super) fn a_panic_of_a_hook<B: SocketBackend>() {
    on::<B, _>(async || {
        let panics = || -> () { panic!("a hook's") };
        let pools = [
            tools::<B>(1, |it| it.on_create(move |_| panics())),
            tools::<B>(1, |it| it.on_acquire(move |_| panics())),
            tools::<B>(1, |it| it.on_release(move |_| panics())),
            tools::<B>(1, |it| it.on_retire(move |_, _| panics())),
        ];
        for (pool, _worker, script) in pools {
            let used = AssertUnwindSafe(async {
                script.recycle.set(if pool.stats().created == 0 { Do::Well } else { Do::Fail });
                let lease = pool.get().await.unwrap();
                script.recycle.set(Do::Well);
                drop(lease);
                let lease = pool.get().await.unwrap();
                script.recycle.set(Do::Fail); // so that it is retired
                drop(lease);
            });
            assert!(used.catch_unwind().await.is_err());
            expect_conserved(&pool, 0);
        }
    });
}

pub(super) fn an_acquire_that_is_given_up_in_creation_or_a_check<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        for told in [&script.create, &script.check] {
            told.set(Do::Hang);
            let mut given_up = Waiter::new(&pool);
            assert!(given_up.poll().is_pending());
            let mut next = Waiter::new(&pool);
            assert!(next.poll().is_pending());
            drop(given_up);
            let Poll::Ready(Ok(lease)) = next.poll() else { panic!("the slot is lost") };
            drop(lease);
            expect_conserved(&pool, 0);
        }
    });
}

pub(super) fn what_fails_its_check_is_replaced_by_another_idle_one_or_a_new_one<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(2, |builder| builder);
        drop([pool.get().await.unwrap(), pool.get().await.unwrap()]);
        script.check.set(Do::Fail);
        let other = pool.get().await.unwrap();
        assert_eq!((script.made.get(), script.live.get()), (2, 1));
        drop(other);
        script.check.set(Do::Fail);
        let new = pool.get().await.unwrap();
        assert_eq!((new.number, pool.stats().retired.check), (3, 2));
        drop(new);
        expect_conserved(&pool, 0);
    });
}

pub(super) fn what_does_not_want_to_be_recycled_is_dropped<B: SocketBackend>() {
    on::<B, _>(async || {
        let (pool, _worker, script) = tools::<B>(1, |builder| builder);
        let lease = pool.get().await.unwrap();
        script.recycle.set(Do::Fail);
        drop(lease);
        assert_eq!((pool.stats().idle, pool.stats().retired.recycle), (0, 1));
        expect_conserved(&pool, 0);
    });
}
