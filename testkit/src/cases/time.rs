//! Sleeping.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::bench::{on, race};
use crate::harness::SocketBackend;
use crate::task::spawn;

pub(super) fn sleepers_wake_in_order<B: SocketBackend>() {
    on::<B, _>(async || {
        let woken = Rc::new(RefCell::new(Vec::new()));
        let sleepers = [30, 10, 50, 20, 40].map(|milliseconds| {
            let woken = Rc::clone(&woken);
            spawn::<B, _>(async move {
                let (begun, duration) = (B::now(), Duration::from_millis(milliseconds));
                B::sleep(duration).await;
                assert!(B::now() - begun >= duration, "woken too soon");
                woken.borrow_mut().push(milliseconds);
            })
        });
        for sleeper in sleepers {
            sleeper.join().await;
        }
        assert_eq!(*woken.borrow(), [10, 20, 30, 40, 50]);
    });
}

pub(super) fn a_dropped_sleep_holds_nothing_up<B: SocketBackend>() {
    on::<B, _>(async || {
        for _ in 0..1000 {
            let hour = B::sleep(Duration::from_secs(3600));
            race(hour, B::sleep(Duration::ZERO)).await.unwrap_err();
        }
        drop(B::sleep(Duration::from_secs(3600)));
    });
}
