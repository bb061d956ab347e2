//! What becomes of one loan between two pools of one slot each, in a simulated world: rules that hold whatever the order
//! of events is. `simulated_borrowing` has the orders.
#![expect(clippy::unwrap_used, reason = "test code: a failed unwrap is a failed test")]

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corepool_core::pool::{Builder, Lease, Retired, Sharing};
use corepool_core::{Backend, WorkerInfo};
use corepool_testkit::sim::{Config as World, Simulated, run, spawn};
use corepool_testkit::tool::{Borrowed, Census, Do, Script, Tool, Tools, shared_tools};
use futures_util::poll;

/// One pool, its worker, and what its tools do.
struct Member {
    pool: Tools,
    worker: WorkerInfo,
    script: Rc<Script>,
}

impl Member {
    fn sweep(&self) {
        self.worker.upkeep().sweep(Simulated::now());
    }
}

/// What pools that share with each other have in common.
#[derive(Default)]
struct Company {
    sharing: Sharing<Tool>,
    census: Arc<Census>,
}

impl Company {
    fn member(&self, configure: impl FnOnce(Builder<Tool>) -> Builder<Tool>) -> Member {
        let (pool, worker, script) = shared_tools::<Simulated>(1, &self.sharing, &self.census, configure);
        Member { pool, worker, script }
    }

    /// Two of them; the first has an idle tool.
    async fn pair(&self) -> [Member; 2] {
        let pair = [self.member(|it| it), self.member(|it| it)];
        drop(pair[0].pool.get().await.unwrap());
        pair
    }
}

async fn seconds(count: u64) {
    Simulated::sleep(Duration::from_secs(count)).await;
}

/// A lease of the pool's own slot, and one of a slot that it has borrowed.
async fn own_and_borrowed(pool: &Tools) -> (Borrowed, Borrowed) {
    let leases = (pool.get().await.unwrap(), pool.get().await.unwrap());
    assert_eq!(pool.stats().borrowed, 1);
    leases
}

#[test]
fn a_borrowed_one_that_fails_its_check_is_replaced_in_its_slot() {
    run(&World::default(), async || {
        let company = Company::default();
        let [lender, borrower] = company.pair().await;
        let own = borrower.pool.get().await.unwrap();
        borrower.script.check.set(Do::Fail);
        let made = borrower.pool.get().await.unwrap();
        let stats = borrower.pool.stats();
        assert_eq!((stats.borrowed, stats.received, stats.retired.check, stats.created), (1, 1, 1, 2));
        let number = made.number;
        drop(made);
        seconds(1).await;
        assert_eq!((borrower.pool.stats().borrowed, lender.pool.stats().lent), (0, 0));
        assert_eq!(lender.pool.try_get().unwrap().number, number, "the new one has come home");
        assert_eq!(company.census.live_max.load(Ordering::SeqCst), 2);
        drop(own);
    });
}

#[test]
fn a_lender_that_closes_has_drained_when_it_has_back_what_it_has_lent() {
    run(&World::default(), async || {
        let company = Company::default();
        let [lender, borrower] = company.pair().await;
        let (own, borrowed) = own_and_borrowed(&borrower.pool).await;
        let waiter = spawn({
            let pool = borrower.pool.clone();
            async move { pool.get().await.unwrap() }
        });
        seconds(1).await;
        lender.pool.close();
        let mut drained = pin!(lender.pool.drained());
        assert!(poll!(drained.as_mut()).is_pending());
        seconds(1).await;
        assert!(poll!(drained.as_mut()).is_pending(), "it is lent still");
        drop(borrowed); // and goes home, although somebody waits for it
        drained.await;
        assert_eq!((lender.pool.stats().lent, lender.pool.stats().retired.surplus), (0, 1));
        assert_eq!((borrower.pool.stats().borrowed, borrower.pool.stats().waiting), (0, 1));
        drop(own);
        drop(waiter.join().await);
    });
}

#[test]
fn what_travels_becomes_as_old_as_it_would_at_home() {
    run(&World::default(), async || {
        let (company, lifetime) = (Company::default(), Duration::from_secs(10));
        let lender = company.member(|it| it.max_lifetime(Some(lifetime)).lifetime_jitter(0.0));
        drop(lender.pool.get().await.unwrap());
        seconds(5).await;
        let borrower = company.member(|it| it.max_lifetime(None)); // whose time begins now
        let (own, borrowed) = own_and_borrowed(&borrower.pool).await;
        drop(borrowed);
        seconds(4).await; // it is 9 s old, and at home
        lender.sweep();
        assert_eq!((lender.pool.stats().idle, lender.pool.stats().received), (1, 1));
        let borrowed = borrower.pool.get().await.unwrap();
        seconds(2).await;
        borrower.sweep();
        drop(borrowed);
        assert_eq!(borrower.pool.stats().retired.lifetime, 1);
        seconds(1).await;
        assert_eq!((lender.pool.stats().lent, lender.pool.stats().size), (0, 0), "its slot is at home");

        drop(lender.pool.get().await.unwrap());
        drop(borrower.pool.get().await.unwrap());
        seconds(11).await;
        lender.sweep();
        assert_eq!(lender.pool.stats().retired.lifetime, 1, "one that is back is dropped when it is too old");
        drop(own);
    });
}

#[test]
fn the_hook_for_those_that_leave_sees_none_that_travels() {
    run(&World::default(), async || {
        let (company, seen) = (Company::default(), Rc::<RefCell<Vec<(&str, Retired)>>>::default());
        let member = |name| {
            let seen = Rc::clone(&seen);
            company.member(move |it| it.on_retire(move |_, why| seen.borrow_mut().push((name, why))))
        };
        let [lender, borrower] = [member("lender"), member("borrower")];
        drop(lender.pool.get().await.unwrap());
        let (own, borrowed) = own_and_borrowed(&borrower.pool).await;
        drop(borrowed);
        seconds(1).await;
        assert_eq!((lender.pool.stats().given, lender.pool.stats().received), (1, 1));

        borrower.script.unpack.set(Do::Fail);
        drop(borrower.pool.get().await.unwrap());
        seconds(1).await;
        lender.script.pack.set(Do::Fail);
        let made = borrower.pool.get().await.unwrap();
        let lost = [&lender, &borrower].map(|it| it.pool.stats().retired.moving);
        assert_eq!(lost, [1, 1], "one could not be packed, one not be taken in");
        assert_eq!(*seen.borrow(), []);

        Lease::discard(made);
        assert_eq!(*seen.borrow(), [("borrower", Retired::Discarded)]);
        drop(own);
    });
}
