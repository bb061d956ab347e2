//! Of several addresses the first that answers is taken, and the others are let go of.

use std::io::ErrorKind;
use std::time::Duration;

use corepool_core::connect::lookup;
use corepool_core::{Address, Connector};

use super::connect::{echo, listening};
use super::connect_fails::fail;
use crate::bench::on;
use crate::harness::SocketBackend;
use crate::peer::{BlackHole, nobody};
use crate::task::spawn;

/// Nobody waits for it: what is tested comes sooner.
const LONG: Duration = Duration::from_secs(3600);

pub(super) fn goes_on_at_once_when_one_is_refused<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| peer.exchange(1000));
    on::<B, _>(async || {
        let addresses = [nobody().into(), nobody().into(), Address::from(address)];
        let connector = Connector::new().deadline(LONG).attempt_delay(LONG);
        let mut connection = connector.connect::<B>(&addresses).await.unwrap();
        assert_eq!(connection.address(), &addresses[2]);
        echo(&mut connection, 1000).await;
    });
    peer.join();
}

pub(super) fn goes_on_when_one_does_not_answer<B: SocketBackend>() {
    let hole = BlackHole::new();
    let (address, peer) = listening(|mut peer| peer.exchange(1000));
    on::<B, _>(async || {
        let addresses = [hole.address().into(), Address::from(address)];
        let connector = Connector::new().deadline(LONG).attempt_delay(Duration::from_millis(20));
        let mut connection = connector.connect::<B>(&addresses).await.unwrap();
        assert_eq!(connection.address(), &addresses[1]);
        echo(&mut connection, 1000).await;
    });
    peer.join();
}

pub(super) fn names_all_that_were_tried<B: SocketBackend>() {
    let hole = BlackHole::new();
    let refusing = nobody();
    on::<B, _>(async || {
        let addresses = [hole.address().into(), refusing.into(), Address::Unix("/nowhere/at all".into())];
        let connector = Connector::new().deadline(Duration::from_millis(100)).attempt_delay(Duration::ZERO);
        let error = fail::<B>(connector.connect(&addresses).await);
        let [first, second, third] = &error.attempts[..] else { panic!("{error}") };
        assert_eq!([&first.address, &second.address, &third.address], addresses.each_ref());
        let kinds = [&first.error, &second.error, &third.error].map(std::io::Error::kind);
        assert_eq!(kinds, [ErrorKind::TimedOut, ErrorKind::ConnectionRefused, ErrorKind::NotFound]);
        assert!(error.to_string().starts_with("cannot connect to any of 3 addresses: "), "{error}");
    });
}

pub(super) fn without_addresses_it_fails<B: SocketBackend>() {
    on::<B, _>(async || {
        let error = fail::<B>(Connector::new().connect(&[]).await);
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

/// Numbers, which the resolver needs nobody for. Many at once: the threads for it are few.
pub(super) fn names_are_looked_up_without_blocking_the_core<B: SocketBackend>() {
    on::<B, _>(async || {
        let tasks: Vec<_> = (1..=100u16)
            .map(|port| {
                spawn::<B, _>(async move {
                    let text = format!("127.0.0.1:{port}");
                    if port % 3 == 0 {
                        let looked_up = lookup(&text);
                        return drop(futures_util::poll!(std::pin::pin!(looked_up))); // given up
                    }
                    assert_eq!(lookup(&text).await.unwrap(), [Address::from(([127, 0, 0, 1], port))]);
                })
            })
            .collect();
        for task in tasks {
            task.join().await;
        }
        let error = lookup("no port").await.unwrap_err();
        assert!(error.to_string().contains("cannot resolve no port: "), "{error}");
    });
}
