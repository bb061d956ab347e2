//! `compio-raw` and its variants: compio by hand, a ring per worker, the echo with
//! each way of receiving that compio has, and all else with owned buffers.
//!
//! Which one is the fastest was measured; the figures are in `docs/src/knobs.md`.

use std::io;
use std::net::TcpListener;
use std::num::NonZero;
use std::pin::pin;
use std::time::Duration;

use compio::BufResult;
use compio::buf::{IntoInner, IoBuf};
use compio::driver::{DriverType, ProactorBuilder};
use compio::io::{AsyncRead, AsyncReadManaged, AsyncReadMulti, AsyncWriteExt};
use compio::net::TcpStream;
use compio::runtime::{Runtime, RuntimeBuilder};
use futures_util::StreamExt;

use super::RECEIVE_BUFFER_BYTES;
use super::ring::explain;
use super::session::Script;
use super::wire::{Wire, converse};
use super::workers::Readiness;

/// Each receive takes a buffer from the ring's pool when bytes have arrived.
pub(super) fn run_managed(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    serve(listener, script, ready, echo_managed)
}

/// One receive per connection completes again and again.
pub(super) fn run_multishot(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    serve(listener, script, ready, echo_multishot)
}

/// Each receive lends the kernel the buffer of the connection.
pub(super) fn run_owned(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    serve(listener, script, ready, move |stream| converse(stream, script))
}

fn serve<F>(
    listener: TcpListener,
    script: Script,
    ready: Readiness,
    echo: impl Fn(TcpStream) -> F,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + 'static,
{
    runtime().map_err(explain)?.block_on(async {
        let listener = compio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            match script.is_echo() {
                true => compio::runtime::spawn(echo(stream)).detach(),
                false => compio::runtime::spawn(converse(stream, script)).detach(),
            }
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

// Both loops echo until the client has finished or gone; how it went is
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

impl Wire for TcpStream {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> io::Result<(Vec<u8>, usize)> {
        buffer.clear();
        let BufResult(received, filled) = self.read(buffer).await;
        Ok((filled, received?))
    }

    async fn send(&mut self, buffer: Vec<u8>, bytes: usize) -> io::Result<Vec<u8>> {
        let BufResult(sent, slice) = self.write_all(buffer.slice(..bytes)).await;
        sent?;
        Ok(slice.into_inner())
    }

    async fn send_static(&mut self, bytes: &'static [u8]) -> io::Result<()> {
        self.write_all(bytes).await.0
    }

    async fn sleep(time: Duration) {
        compio::time::sleep(time).await;
    }
}

const RING_ENTRIES: u32 = 1024;
const SYNC_QUEUE_ENTRIES: usize = 65_536;
/// They are used in turn, so more of them need more of the cache.
const POOL_BUFFERS: NonZero<u16> = NonZero::new(128).expect("128 is not zero");
