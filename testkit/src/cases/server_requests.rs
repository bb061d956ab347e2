//! Permits for requests: all clients are connected, and take turns.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use corepool_core::limit::Adaptive;
use corepool_core::overflow::{Overflow, Queue, Reject, ServeAnyway, Then};
use corepool_core::{Backend, Config, Connection, Handler, Refusal, Scope};
use futures_util::future::{Either, select};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::{TOO_MUCH, start};
use crate::served::{config, serve};

const LONG: Duration = Duration::from_secs(3600);

fn requests(limit: u32, overflow: impl Overflow) -> Config {
    config(1).scope(Scope::Request).limit(limit).overflow(overflow)
}

/// Sends each request back, and notes how many are served at once.
#[derive(Debug, Clone, Default)]
struct Turns {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl<B: Backend> Handler<B> for Turns {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(_request) = connection.request().await? {
            self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let chunk = connection.recv().await?;
            B::sleep(Duration::from_micros(100)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            if let Some(chunk) = chunk {
                connection.send(chunk).await?;
            }
        }
        Ok(())
    }
}

/// Holds its request until the client sends something more.
#[derive(Debug, Clone, Copy)]
struct Holder;

impl<B: Backend> Handler<B> for Holder {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        loop {
            match connection.request().await {
                Ok(Some(_request)) => {
                    for _ in 0..2 {
                        let Some(chunk) = connection.recv().await? else { return Ok(()) };
                        connection.send(chunk).await?;
                    }
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    let refusal = error.get_ref().and_then(|inner| inner.downcast_ref::<Refusal>());
                    let answer = match refusal {
                        Some(Refusal::Full) => "full",
                        Some(Refusal::Expired) => "late",
                        _ => return Err(error),
                    };
                    connection.send(answer).await?;
                    return Ok(());
                }
            }
        }
    }
}

pub(super) fn all_clients_take_turns<B: SocketBackend>() {
    let turns = Turns::default();
    let config = requests(2, Queue::new(1, LONG)).workers(2);
    let server = serve::<B, _>(&config, turns.clone());
    let clients = (0..24).map(|_| {
        let mut peer = server.connect();
        start(move || {
            (0..40).for_each(|_| peer.exchange(100));
            peer.half_close();
            peer.expect_end();
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    assert!(turns.most.load(Ordering::SeqCst) <= 4, "more than two at a time on each of two workers");
    let settled = server.handle().settled(Duration::from_secs(20)).unwrap();
    assert_eq!(settled.total(|counts| counts.requests_ended), settled.total(|counts| counts.requests));
    let stats = server.end();
    assert_eq!(
        stats.total(|counts| counts.requests_immediate + counts.requests_granted),
        stats.total(|counts| counts.requests)
    );
    assert!(stats.total(|counts| counts.requests) >= 24 * 40);
    assert!(stats.total(|counts| counts.requests_granted) > 0, "nobody has waited: {stats:?}");
}

pub(super) fn a_handler_that_does_not_ask_is_told<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(2, Reject::Close), Echo);
    let mut peer = server.connect();
    peer.send(10);
    peer.expect_over();
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.failed), 1);
}

pub(super) fn one_handler_serves_both_scopes<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Turns::default());
    let mut peer = server.connect();
    (0..20).for_each(|_| peer.exchange(5000));
    drop(peer);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.requests), 0);
}

pub(super) fn a_request_without_a_permit_may_be_refused<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(1, Reject::Close), Holder);
    let mut holder = server.connect();
    holder.exchange(10);
    let mut other = server.connect();
    other.send(10);
    assert_eq!(other.rest(), b"full");
    holder.exchange(10);
    drop(holder);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.requests_refused), 1);
}

pub(super) fn a_request_that_waits_too_long_is_refused<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(1, Queue::new(1, Duration::from_millis(50))), Holder);
    let mut holder = server.connect();
    holder.exchange(10);
    let mut other = server.connect();
    other.send(10);
    assert_eq!(other.rest(), b"late");
    holder.exchange(10);
    drop(holder);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.requests_expired), 1);
}

pub(super) fn a_request_may_be_served_over_the_limit<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(1, ServeAnyway), Holder);
    let mut peers = [server.connect(), server.connect()];
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    assert_eq!(server.stats().workers[0].requests_taken, 2);
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    drop(peers);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.requests_over), 1);

    let queue = Queue::new(1, Duration::from_millis(50)).then(Then::ServeAnyway);
    let server = serve::<B, _>(&requests(1, queue), Holder);
    let mut peers = [server.connect(), server.connect()];
    peers.iter_mut().for_each(|peer| peer.exchange(10));
    drop(peers);
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.requests_granted_over), 1);
}

/// Gives up waiting again and again, and says how often when it is served.
#[derive(Debug, Clone, Copy)]
struct Impatient;

impl<B: Backend> Handler<B> for Impatient {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        loop {
            let request = {
                let sleep = pin!(B::sleep(Duration::from_millis(1)));
                match select(pin!(connection.request()), sleep).await {
                    Either::Left((request, _)) => request?,
                    Either::Right(_) => continue,
                }
            };
            let Some(_request) = request else { return Ok(()) };
            let Some(chunk) = connection.recv().await? else { return Ok(()) };
            B::sleep(Duration::from_millis(3)).await;
            connection.send(chunk).await?;
        }
    }
}

pub(super) fn requests_that_are_given_up_lose_nothing<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(1, Queue::new(1, LONG)), Impatient);
    let clients = (0..4).map(|_| {
        let mut peer = server.connect();
        start(move || (0..20).for_each(|_| peer.exchange(100)))
    });
    for client in clients.collect::<Vec<_>>() {
        client.join();
    }
    let stats = server.end();
    assert!(stats.total(|counts| counts.requests_gone) > 0, "{stats:?}");
}

/// Answers each request, at great length if it is the first and one byte, and gives its permit back when the answer
/// has begun.
#[derive(Debug, Clone, Copy)]
struct Flood;

impl<B: Backend> Handler<B> for Flood {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        let mut stream = Pattern::default();
        while let Some(request) = connection.request().await? {
            let Some(chunk) = connection.recv().await? else { break };
            let is_flood = stream.position() == 0 && chunk.len() == 1;
            let reply = stream.take(if is_flood { TOO_MUCH } else { chunk.len() });
            let sent = connection.send(reply);
            drop(request);
            sent.await?;
        }
        Ok(())
    }
}

pub(super) fn a_client_that_does_not_read_holds_no_permit<B: SocketBackend>() {
    let server = serve::<B, _>(&requests(1, Queue::new(1, LONG)), Flood);
    let mut slow = server.connect();
    slow.send(1);
    slow.wait(); // its reply has begun
    slow.send(100); // and is served in its turn
    let mut others = [server.connect(), server.connect()];
    for _ in 0..20 {
        others.iter_mut().for_each(|other| other.exchange(100));
    }
    let stats = server.stats();
    assert_eq!(stats.workers[0].requests_taken, 0, "{stats:?}");
    slow.expect(TOO_MUCH + 100);
    slow.exchange(5000);
    slow.half_close();
    slow.expect_end();
    drop(others);
    server.end();
}

pub(super) fn a_limit_that_finds_itself_rises_while_it_is_reached<B: SocketBackend>() {
    let config =
        config(1).scope(Scope::Request).admission(Adaptive::between(1, 8)).overflow(Queue::new(1, LONG));
    let server = serve::<B, _>(&config, Turns::default());
    let stop = Arc::new(AtomicUsize::new(0));
    let clients = (0..6).map(|_| {
        let (mut peer, stop) = (server.connect(), Arc::clone(&stop));
        start(move || {
            while stop.load(Ordering::SeqCst) == 0 {
                peer.exchange(10);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    server.until(|stats| stats.workers[0].limit >= 3);
    stop.store(1, Ordering::SeqCst);
    for client in clients {
        client.join();
    }
    server.end();
}
