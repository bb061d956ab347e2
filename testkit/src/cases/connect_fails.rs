//! A connection that cannot be opened says why and to where, and leaves nothing behind.

use std::io::ErrorKind;
use std::pin::pin;
use std::time::{Duration, Instant};

use corepool_core::outbound::all_closed;
use corepool_core::{ConnectError, Connector, Outbound};
use rustix::io::Errno;

use super::connect::{connect, echo, listening};
use crate::bench::{on, race, turn};
use crate::harness::SocketBackend;
use crate::peer::{BlackHole, Peer, nobody};
use crate::process::{descriptor_count, exhaust_descriptors};

/// Long enough for something to be under way.
const SHORT: Duration = Duration::from_millis(50);

pub(super) fn where_nobody_listens<B: SocketBackend>() {
    let address = nobody();
    on::<B, _>(async || {
        let error = fail::<B>(Connector::new().connect(&[address.into()]).await);
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let text = format!("cannot connect to {address}: ");
        assert!(error.to_string().starts_with(&text), "{error}");
    });
}

pub(super) fn where_nobody_answers_within_the_deadline<B: SocketBackend>() {
    let hole = BlackHole::new();
    on::<B, _>(async || {
        let open = descriptor_count();
        let begun = Instant::now();
        let connector = Connector::new().deadline(SHORT);
        let error = fail::<B>(connector.connect(&[hole.address().into()]).await);
        assert!(begun.elapsed() >= SHORT);
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let text = format!("cannot connect to {}: no answer within 50ms", hole.address());
        assert_eq!(error.to_string(), text);
        all_closed().await;
        assert_eq!(descriptor_count(), open, "descriptors are left open");
    });
}

pub(super) fn given_up_at_any_moment_it_leaves_nothing<B: SocketBackend>() {
    let hole = BlackHole::new();
    on::<B, _>(async || {
        let open = descriptor_count();
        let connector = Connector::new().attempt_delay(Duration::ZERO);
        for turns in 0..20 {
            let addresses = [hole.address().into(), hole.address().into()];
            let give_up = async {
                for _ in 0..turns {
                    turn::<B>().await;
                }
            };
            let connecting = pin!(connector.connect::<B>(&addresses));
            assert!(race(connecting, give_up).await.is_err(), "nobody answers");
        }
        all_closed().await;
        assert_eq!(descriptor_count(), open, "descriptors are left open");
        hole.open(); // and nobody comes any more
    });
}

pub(super) fn without_descriptors_and_succeeds_with_some<B: SocketBackend>() {
    let (address, peer) = listening(|mut peer| peer.exchange(1000));
    on::<B, _>(async || {
        let exhausted = exhaust_descriptors();
        let error = fail::<B>(Connector::new().connect(&[address.into()]).await);
        drop(exhausted);
        assert_eq!(Errno::from_io_error(&error.attempts[0].error), Some(Errno::MFILE));
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        let mut connection = connect::<B>(address).await;
        echo(&mut connection, 1000).await;
    });
    peer.join();
}

pub(super) fn after_it_was_reset<B: SocketBackend>() {
    let (address, peer) = listening(|peer: Peer| peer.reset());
    on::<B, _>(async || {
        // The reset may come so soon that it is what connecting ends in.
        let mut connection = match Connector::new().connect::<B>(&[address.into()]).await {
            Ok(connection) => connection,
            Err(error) => return assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        };
        assert_eq!(connection.recv().await.unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert!(connection.recv().await.unwrap().is_none());
        connection.send("?").await.unwrap_err();
    });
    peer.join();
}

pub(super) fn fail<B: SocketBackend>(result: Result<Outbound<B>, ConnectError>) -> ConnectError {
    result.expect_err("it cannot be connected to")
}
