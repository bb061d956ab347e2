//! The same scenarios on our pool, bb8 and deadpool: what each comes to. Where they differ, `docs/src/pool.md` says why.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

mod subjects;

use subjects::{Bb8, Deadpool, Failure, Ours, Script, Subject};

/// Short, since some scenarios wait for it.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Long enough for nobody.
const NEVER: Duration = Duration::from_secs(3600);

/// What a scenario comes to, in words.
type Outcome = &'static str;

/// One row of the table: the same scenario, and what it comes to on each.
struct Row {
    scenario: &'static str,
    outcomes: [Outcome; 3],
    expected: [Outcome; 3],
}

/// Runs a scenario on all three.
macro_rules! row {
    ($scenario:ident: $($expected:expr),+) => {
        Row {
            scenario: stringify!($scenario),
            outcomes: [on($scenario::<Ours>()), on($scenario::<Bb8>()), on($scenario::<Deadpool>())],
            expected: [$($expected),+],
        }
    };
}

#[test]
fn each_pool_does_what_the_table_says() {
    let table = [
        // Where they agree.
        row!(waiters: "in their order", "in their order", "in their order"),
        row!(a_waiter_that_gave_up: "the next is served", "the next is served", "the next is served"),
        row!(with_all_lent_out: "timed out", "timed out", "timed out"),
        row!(a_lease_that_comes_back: "is lent again", "is lent again", "is lent again"),
        row!(one_that_fails_its_check: "is replaced", "is replaced", "is replaced"),
        row!(of_many_at_once: "never more than the size", "never more than the size", "never more than the size"),
        // Where they do not.
        row!(the_next_of_two_idle: "the newest", "the oldest", "the oldest"),
        row!(an_error_of_creation: "is told", "timed out", "is told"),
        row!(a_panic_of_creation: "costs nothing", "the acquire hangs until its timeout", "costs nothing"),
        row!(without_a_timeout_of_ones_own: "there is one", "there is one", "it waits for ever"),
    ];
    let book = include_str!("../../docs/src/pool.md");
    for Row { scenario, outcomes, expected } in table {
        assert_eq!(outcomes, expected, "{scenario}: [ours, bb8, deadpool]");
        let agree = expected.iter().all(|outcome| *outcome == expected[0]);
        assert!(agree || book.contains(scenario), "the book says nothing about {scenario}");
    }
}

/// Runs a future on a thread's runtime.
fn on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build_local(Default::default());
    runtime.expect("a runtime").block_on(future)
}

/// Lets every task that can run have its turn.
async fn turns() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

async fn waiters<P: Subject>() -> Outcome {
    let pool = P::new(1, NEVER, &Arc::default()).await;
    let held = pool.get().await.ok();
    let served: Rc<Cell<usize>> = Rc::default();
    let mut tasks = Vec::new();
    for turn in 0..10 {
        let (pool, served) = (pool.clone(), Rc::clone(&served));
        tasks.push(tokio::task::spawn_local(async move {
            let lease = pool.get().await.ok();
            let in_order = served.replace(turn + 1) == turn;
            drop(lease);
            in_order
        }));
        turns().await;
    }
    drop(held);
    for task in tasks {
        if !task.await.expect("no panic") {
            return "in any order";
        }
    }
    "in their order"
}

async fn a_waiter_that_gave_up<P: Subject>() -> Outcome {
    let pool = P::new(1, NEVER, &Arc::default()).await;
    let held = pool.get().await.ok();
    let [first, second] = [pool.clone(), pool.clone()]
        .map(|pool| tokio::task::spawn_local(async move { pool.get().await.is_ok() }));
    turns().await;
    first.abort();
    drop(held);
    match tokio::time::timeout(TIMEOUT, second).await {
        Ok(Ok(true)) => "the next is served",
        _ => "the next is not served",
    }
}

async fn with_all_lent_out<P: Subject>() -> Outcome {
    let pool = P::new(1, TIMEOUT, &Arc::default()).await;
    let _held = pool.get().await.ok();
    outcome(pool.get().await.err())
}

async fn a_lease_that_comes_back<P: Subject>() -> Outcome {
    let pool = P::new(1, NEVER, &Arc::default()).await;
    let first = pool.get().await.ok().map(|lease| P::number(&lease));
    turns().await; // bb8 takes it back in a task
    let again = pool.get().await.ok().map(|lease| P::number(&lease));
    if first == again { "is lent again" } else { "is not lent again" }
}

async fn one_that_fails_its_check<P: Subject>() -> Outcome {
    let script = Arc::<Script>::default();
    let pool = P::new(1, NEVER, &script).await;
    drop(pool.get().await);
    turns().await;
    script.fail_checks.store(1, Ordering::SeqCst);
    match pool.get().await {
        Ok(lease) if P::number(&lease) == 2 => "is replaced",
        Ok(_) => "is lent out",
        Err(_) => "is an error",
    }
}

async fn of_many_at_once<P: Subject>() -> Outcome {
    let script = Arc::<Script>::default();
    let pool = P::new(3, NEVER, &script).await;
    let (busy, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (pool, busy, most) = (pool.clone(), Arc::clone(&busy), Arc::clone(&most));
            tokio::task::spawn_local(async move {
                let lease = pool.get().await.ok();
                most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                busy.fetch_sub(1, Ordering::SeqCst);
                drop(lease);
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let (most, made) = (most.load(Ordering::SeqCst), script.made.load(Ordering::SeqCst));
    if most == 3 && made == 3 { "never more than the size" } else { "another number" }
}

async fn the_next_of_two_idle<P: Subject>() -> Outcome {
    let pool = P::new(2, NEVER, &Arc::default()).await;
    let [first, second] = [pool.get().await.ok(), pool.get().await.ok()];
    let oldest = first.as_ref().map(P::number);
    drop(first);
    turns().await;
    drop(second);
    turns().await;
    let next = pool.get().await.ok();
    if next.as_ref().map(P::number) == oldest { "the oldest" } else { "the newest" }
}

async fn an_error_of_creation<P: Subject>() -> Outcome {
    let script = Arc::<Script>::default();
    script.fail_creations.store(usize::MAX, Ordering::SeqCst);
    let pool = P::new(1, TIMEOUT, &script).await;
    outcome(pool.get().await.err())
}

async fn a_panic_of_creation<P: Subject>() -> Outcome {
    let script = Arc::<Script>::default();
    script.panic_creations.store(1, Ordering::SeqCst);
    let pool = P::new(1, TIMEOUT, &script).await;
    let panicking = pool.clone();
    let first = tokio::task::spawn_local(async move { panicking.get().await.is_ok() }).await;
    match (first.is_err(), pool.get().await.is_ok()) {
        (true, true) => "costs nothing",
        (false, _) => "the acquire hangs until its timeout",
        (true, false) => "costs a slot",
    }
}

async fn without_a_timeout_of_ones_own<P: Subject>() -> Outcome {
    if P::has_a_default_timeout() { "there is one" } else { "it waits for ever" }
}

fn outcome(failure: Option<Failure>) -> Outcome {
    match failure {
        None => "is lent out",
        Some(Failure::TimedOut) => "timed out",
        Some(Failure::Create) => "is told",
        Some(Failure::Other) => "another error",
    }
}
