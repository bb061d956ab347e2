//! What a message costs in allocations, counted by the allocator of the whole process.
//!
//! Owns no allocator: to install one is up to a test of its own in each backend crate, since everything else in
//! that process is counted too. The peer here allocates nothing while it counts.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use corepool_core::{Backend, Config, Connection, Handler, start};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::LOOPBACK;

/// Messages before anything is counted: pools fill, tables grow.
const WARM_UP: usize = 500;

/// Messages that are counted.
const COUNTED: usize = 2000;

/// How far the count may be off: a worker's sweep boxes its timer, and an operation may begin before the first
/// message that is counted, or after the last.
const BESIDES: usize = COUNTED / 50;

/// Asserts that in steady state a message costs `by_the_runtime` allocations, no more and no fewer: none of ours,
/// neither for an echo nor for a reply that is written into a lent buffer. `count` tells how many allocations
/// there have been in this process.
///
/// # Panics
/// When it costs more, or fewer; and when the server cannot start.
pub fn allocations<B: SocketBackend>(count: fn() -> usize, by_the_runtime: usize) {
    for bytes in [1, 512, 16 << 10] {
        expect::<B, _>(Echo, "an echo", bytes, count, by_the_runtime);
        expect::<B, _>(Scribe, "a reply in a lent buffer", bytes, count, by_the_runtime);
    }
}

fn expect<B: SocketBackend, H: Handler<B> + Copy + Send + Sync>(
    handler: H,
    what: &str,
    bytes: usize,
    count: fn() -> usize,
    by_the_runtime: usize,
) {
    let config = Config::new().listen(LOOPBACK).workers(1);
    let server = start::<B, _>(&config, &B::Config::default(), move |_worker| handler).unwrap();
    let found = allocations_of(server.handle().addresses()[0], bytes, count);
    server.handle().shutdown();
    server.join();
    let expected = by_the_runtime * COUNTED;
    assert!(
        found.abs_diff(expected) < BESIDES,
        "{what} of {bytes} bytes: {found} allocations for {COUNTED} messages, {expected} were expected"
    );
}

/// Counts while messages of that size go to the server and come back.
fn allocations_of(address: SocketAddr, bytes: usize, count: fn() -> usize) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut message = vec![7; bytes];
    let mut exchange = |times| {
        for _ in 0..times {
            stream.write_all(&message).unwrap();
            stream.read_exact(&mut message).unwrap();
        }
    };
    exchange(WARM_UP);
    let before = count();
    exchange(COUNTED);
    count() - before
}

/// Answers everything with as many fresh bytes.
#[derive(Debug, Clone, Copy)]
struct Scribe;

impl<B: Backend> Handler<B> for Scribe {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = connection.recv().await? {
            let mut reply = connection.buffer();
            reply.extend_from_slice(&chunk);
            drop(chunk);
            connection.send(reply).await?;
        }
        Ok(())
    }
}
