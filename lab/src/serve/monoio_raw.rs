//! `monoio-raw`: the echo by hand on monoio, a ring per worker with the flags of
//! the framework's monoio backend.

use std::io;
use std::net::TcpListener;

use io_uring_06::IoUring;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::TcpStream;
use monoio::{IoUringDriver, RuntimeBuilder};

use super::RECEIVE_BUFFER_BYTES;
use super::ring::explain;
use super::workers::Readiness;

pub(super) fn run(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    let mut ring = IoUring::builder();
    ring.setup_clamp().setup_single_issuer().setup_defer_taskrun();
    let mut runtime = RuntimeBuilder::<IoUringDriver>::new()
        .with_entries(RING_ENTRIES)
        .uring_builder(ring)
        .build()
        .map_err(explain)?;
    runtime.block_on(async {
        let listener = monoio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            monoio::spawn(echo(stream));
        }
    })
}

/// Echoes until the client has finished or gone; how it went is the client's
/// to count.
async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(RECEIVE_BUFFER_BYTES);
    loop {
        let (received, filled) = stream.read(buffer).await;
        if received? == 0 {
            return Ok(());
        }
        let (sent, empty) = stream.write_all(filled).await;
        sent?;
        buffer = empty;
    }
}

const RING_ENTRIES: u32 = 1024;
