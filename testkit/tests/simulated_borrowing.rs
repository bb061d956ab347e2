//! Pools that share, in many simulated worlds: whatever the order of events, no slot is lost or made up, and nobody waits
//! for what is idle elsewhere.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corepool_core::pool::{Builder, Lease, PoolStats, Sharing};
use corepool_core::{Backend, WorkerInfo};
use corepool_testkit::Task;
use corepool_testkit::sim::{Config as World, Simulated, invariant, random, seeds, spawn};
use corepool_testkit::tool::{Census, Do, Script, Tool, Tools, expect_conserved, shared_tools};
use futures_util::FutureExt;
use futures_util::future::{Either, select};

/// A number below `bound` of this world's random source.
fn below(bound: u64) -> u64 {
    random() % bound
}

async fn a_while(most: u64) {
    Simulated::sleep(Duration::from_millis(below(most))).await;
}

/// With how long it takes, at the most, to get something out of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// Of one worker.
type Member = (Tools, WorkerInfo, Rc<Script>);

/// Pools that share, one for each of several workers.
struct Shared {
    /// `None` for those that have left.
    members: Rc<RefCell<Vec<Option<Member>>>>,
}

impl Shared {
    /// After every step of the world, no more slots are in use than all have together.
    fn new(sizes: &[usize], configure: impl Fn(Builder<Tool>) -> Builder<Tool>) -> Self {
        let (sharing, census) = (Sharing::new(), Arc::<Census>::default());
        let member = |max: &usize| Some(shared_tools::<Simulated>(*max, &sharing, &census, &configure));
        let members: Rc<RefCell<Vec<_>>> = Rc::new(RefCell::new(sizes.iter().map(member).collect()));
        let (living, sizes) = (Rc::clone(&members), sizes.to_vec());
        let slots = sizes.iter().sum();
        invariant(move || {
            let members = living.borrow();
            let stats =
                members.iter().zip(&sizes).filter_map(|(it, size)| Some((it.as_ref()?.0.stats(), *size)));
            let stats: Vec<_> = stats.collect();
            assert!(census.live.load(Ordering::Relaxed) <= slots, "too many tools: {stats:?}");
            let used: usize = stats.iter().map(|(pool, _)| pool.size).sum();
            assert!(used <= slots, "too many slots: {stats:?}");
            for (pool, size) in &stats {
                assert!(pool.size + pool.lent <= size + pool.borrowed, "{pool:?}");
            }
        });
        Self { members }
    }

    fn pool(&self, index: usize) -> Tools {
        self.members.borrow()[index].as_ref().unwrap().0.clone()
    }

    fn script(&self, index: usize) -> Rc<Script> {
        Rc::clone(&self.members.borrow()[index].as_ref().unwrap().2)
    }

    fn stats(&self) -> Vec<PoolStats> {
        self.members.borrow().iter().flatten().map(|(pool, ..)| pool.stats()).collect()
    }

    fn sweep(&self) {
        let workers: Vec<_> = self.members.borrow().iter().flatten().map(|it| it.1.clone()).collect();
        workers.iter().for_each(|worker| worker.upkeep().sweep(Simulated::now()));
    }

    /// A worker leaves, as a server's does, or is gone from one moment to the next.
    fn leave(&self, index: usize, politely: bool) {
        let member = self.members.borrow_mut()[index].take().unwrap();
        if politely {
            member.1.upkeep().close();
        }
    }

    /// Waits until everything is where it belongs, and asserts that nothing is lost.
    async fn end(self) {
        let is_away = |pool: &PoolStats| pool.lent + pool.borrowed + pool.waiting > 0;
        while self.stats().iter().any(is_away) {
            Simulated::sleep(Duration::from_secs(1)).await;
        }
        Simulated::sleep(PATIENCE).await; // for what is being packed, and nobody waits for
        let stats = self.stats();
        let members = self.members.take();
        for (pool, ..) in members.iter().flatten() {
            expect_conserved(pool, 0);
            pool.close();
            pool.drained().await;
            assert_eq!(pool.source().live.get(), 0);
        }
        if stats.len() == members.len() {
            let sum = |count: fn(&PoolStats) -> u64| stats.iter().map(count).sum::<u64>();
            assert_eq!(sum(|it| it.given), sum(|it| it.received), "{stats:?}");
        }
    }
}

/// Uses a pool for a while, as it should be used and otherwise.
async fn user(pool: Tools, patience: u64) {
    for _ in 0..10 {
        let script = pool.source();
        let one_of = |what: &[Do]| what[below(what.len() as u64) as usize];
        match below(14) {
            0 => script.create.set(one_of(&[Do::Fail, Do::Panic])),
            1 => script.check.set(one_of(&[Do::Fail, Do::Panic])),
            2 => script.recycle.set(Do::Fail),
            3..6 => script.pack.set(one_of(&[Do::Fail, Do::Panic, Do::Hang, Do::Later, Do::Later])),
            6 => script.unpack.set(one_of(&[Do::Fail, Do::Panic])),
            _ => {}
        }
        let using = async {
            let Ok(lease) = pool.get().await else { return };
            a_while(20).await;
            match below(8) {
                0 => Lease::discard(lease),
                1 => panic!("of a user"),
                _ => drop(lease),
            }
        };
        let using = AssertUnwindSafe(using).catch_unwind();
        let _given_up = matches!(select(pin!(using), pin!(a_while(patience))).await, Either::Right(_));
        a_while(30).await;
    }
}

fn some_sizes() -> Vec<usize> {
    (0..2 + below(2)).map(|_| 1 + below(3) as usize).collect()
}

/// More of them at some pools than at others.
fn users(shared: &Shared, sizes: &[usize], patience: u64) -> Vec<Task<()>> {
    let at = |index| (0..below(15)).map(move |_| index);
    let all: Vec<usize> = (0..sizes.len()).flat_map(at).collect();
    all.into_iter().map(|index| spawn(user(shared.pool(index), patience))).collect()
}

#[test]
fn whatever_is_done_with_them_no_slot_is_lost_or_made_up() {
    let borrowed = RefCell::new(0);
    seeds(0..500, World::seed, async |_seed| {
        let sizes = some_sizes();
        let shared = Shared::new(&sizes, |it| it.acquire_timeout(PATIENCE));
        let users = users(&shared, &sizes, 200);
        for _ in 0..10 {
            a_while(100).await;
            shared.sweep();
            if below(8) == 0 {
                let index = below(sizes.len() as u64) as usize;
                shared.pool(index).resize(1 + below(sizes[index] as u64) as usize);
            }
        }
        for user in users {
            user.join().await;
        }
        *borrowed.borrow_mut() += shared.stats().iter().map(|it| it.received).sum::<u64>();
        shared.end().await;
    });
    assert!(*borrowed.borrow() > 1000, "hardly anything was borrowed: {borrowed:?}");
}

#[test]
fn when_a_worker_leaves_what_it_owes_comes_back_and_nobody_waits_for_it() {
    seeds(0..200, World::seed, async |_seed| {
        let sizes = some_sizes();
        let shared = Shared::new(&sizes, |it| it.acquire_timeout(PATIENCE));
        let users = users(&shared, &sizes, 1000);
        a_while(100).await;
        shared.leave(below(sizes.len() as u64) as usize, below(2) == 0);
        for user in users {
            user.join().await;
        }
        shared.end().await;
    });
}

#[test]
fn nobody_waits_for_what_is_to_spare_elsewhere() {
    seeds(0..500, World::seed, async |_seed| {
        let sizes: Vec<usize> = (0..2 + below(3)).map(|_| 1 + below(3) as usize).collect();
        let shared = Shared::new(&sizes, |it| it);
        let all: usize = sizes.iter().sum();
        // Some have been used before, and some have not.
        for index in 0..sizes.len() {
            if below(2) == 0 {
                drop(shared.pool(index).get().await.unwrap());
            }
            shared.script(index).pack.set([Do::Well, Do::Later, Do::Fail][below(3) as usize]);
        }
        let begun = Simulated::now();
        let holders: Vec<_> = (0..all)
            .map(|_| {
                let pool = shared.pool(below(sizes.len() as u64) as usize);
                spawn(async move { pool.get().await.unwrap() })
            })
            .collect();
        let mut leases = Vec::new();
        for holder in holders {
            leases.push(holder.join().await);
        }
        assert_eq!(Simulated::now(), begun, "somebody has waited: {:?}", shared.stats());
        drop(leases);
        shared.end().await;
    });
}

#[test]
fn a_lender_gets_back_what_it_needs_although_the_borrower_would_keep_it() {
    seeds(0..200, World::seed, async |_seed| {
        let shared = Shared::new(&[1, 1], |it| it);
        let busy: Vec<_> = (0..4)
            .map(|_| {
                let pool = shared.pool(0);
                spawn(async move {
                    for _ in 0..100 {
                        let lease = pool.get().await.unwrap();
                        Simulated::sleep(Duration::from_millis(5)).await;
                        drop(lease);
                    }
                })
            })
            .collect();
        for _ in 0..10 {
            a_while(50).await;
            let begun = Simulated::now();
            let lease = shared.pool(1).get().await.unwrap();
            assert!(Simulated::now() - begun <= Duration::from_millis(5), "{:?}", shared.stats());
            drop(lease);
        }
        for user in busy {
            user.join().await;
        }
        shared.end().await;
    });
}
