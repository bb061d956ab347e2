//! `compio-raw` and its variants: the echo by hand on compio, a ring per worker,
//! with each way of receiving that compio has.
//!
//! Which one is the fastest was measured; the figures are in `docs/src/knobs.md`.

use std::io;
use std::net::TcpListener;
use std::num::NonZero;
use std::pin::pin;

use compio::BufResult;
use compio::driver::{DriverType, ProactorBuilder};
use compio::io::{AsyncRead, AsyncReadManaged, AsyncReadMulti, AsyncWriteExt};
use compio::net::TcpStream;
use compio::runtime::{Runtime, RuntimeBuilder};
use futures_util::StreamExt;

use super::RECEIVE_BUFFER_BYTES;
use super::ring::explain;
use super::workers::Readiness;

/// Each receive takes a buffer from the ring's pool when bytes have arrived.
pub(super) fn run_managed(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    serve(listener, ready, echo_managed)
}

/// One receive per connection completes again and again.
pub(super) fn run_multishot(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    serve(listener, ready, echo_multishot)
}

/// Each receive lends the kernel the buffer of the connection.
pub(super) fn run_owned(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    serve(listener, ready, echo_owned)
}

fn serve<F>(listener: TcpListener, ready: Readiness, echo: fn(TcpStream) -> F) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + 'static,
{
    runtime().map_err(explain)?.block_on(async {
        let listener = compio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            compio::runtime::spawn(echo(stream)).detach();
        }
    })
}

fn runtime() -> io::Result<Runtime> {
    let mut ring = ProactorBuilder::new();
    ring.driver_type(DriverType::IoUring)
        .capacity(RING_ENTRIES)
        .single_issuer(true)
        .defer_taskrun(true)
        .coop_taskrun(true)
        .taskrun_flag(true)
        .buffer_pool_size(POOL_BUFFERS)
        .buffer_pool_buffer_len(RECEIVE_BUFFER_BYTES);
    RuntimeBuilder::new().with_proactor(ring).sync_queue_size(SYNC_QUEUE_ENTRIES).build()
}

// The three loops echo until the client has finished or gone; how it went is
// the client's to count.

async fn echo_managed(mut stream: TcpStream) -> io::Result<()> {
    loop {
        match stream.read_managed(0).await {
            Ok(Some(chunk)) => stream.write_all(chunk).await.0?,
            Ok(None) => return Ok(()),
            Err(error) if pool_is_empty(&error) => {
                if echo_owned_once(&stream).await? == 0 {
                    return Ok(());
                }
            }
            Err(error) => return Err(error),
        }
    }
}

async fn echo_multishot(stream: TcpStream) -> io::Result<()> {
    let (mut receiver, mut sender) = (&stream, &stream);
    let mut chunks = pin!(receiver.read_multi(0));
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => sender.write_all(chunk).await.0?,
            // The receive has ended; polling the stream again makes a new one.
            Err(error) if pool_is_empty(&error) => {
                if echo_owned_once(sender).await? == 0 {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn echo_owned(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(RECEIVE_BUFFER_BYTES);
    loop {
        buffer.clear();
        let BufResult(received, filled) = stream.read(buffer).await;
        if received? == 0 {
            return Ok(());
        }
        let BufResult(sent, empty) = stream.write_all(filled).await;
        sent?;
        buffer = empty;
    }
}

/// More connections have bytes waiting than the pool has buffers; the kernel's
/// ENOBUFS, as compio passes it on.
fn pool_is_empty(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// One receive and reply without the pool; returns the bytes received.
async fn echo_owned_once(mut stream: &TcpStream) -> io::Result<usize> {
    let BufResult(received, chunk) = stream.read(Vec::with_capacity(RECEIVE_BUFFER_BYTES)).await;
    let received = received?;
    stream.write_all(chunk).await.0?;
    Ok(received)
}

const RING_ENTRIES: u32 = 1024;
const SYNC_QUEUE_ENTRIES: usize = 65_536;
/// They are used in turn, so more of them need more of the cache.
const POOL_BUFFERS: NonZero<u16> = NonZero::new(128).expect("128 is not zero");
