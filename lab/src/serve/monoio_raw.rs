//! `monoio-raw`: monoio by hand, a ring per worker with the flags of the
//! framework's monoio backend.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use io_uring_06::IoUring;
use monoio::buf::IoBuf;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::TcpStream;
use monoio::{IoUringDriver, RuntimeBuilder};

use super::ring::explain;
use super::session::Script;
use super::wire::{Wire, converse};
use super::workers::Readiness;

pub(super) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let mut ring = IoUring::builder();
    ring.setup_clamp().setup_single_issuer().setup_defer_taskrun();
    let builder = RuntimeBuilder::<IoUringDriver>::new().with_entries(RING_ENTRIES).uring_builder(ring);
    let accept = accept(listener, script, ready);
    // An echo does not pay for the timer that it does not need.
    match script.is_echo() {
        true => builder.build().map_err(explain)?.block_on(accept),
        false => builder.enable_timer().build().map_err(explain)?.block_on(accept),
    }
}

async fn accept(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let listener = monoio::net::TcpListener::from_std(listener)?;
    ready.announce();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        monoio::spawn(converse(stream, script));
    }
}

impl Wire for TcpStream {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> io::Result<(Vec<u8>, usize)> {
        buffer.clear();
        let (received, filled) = self.read(buffer).await;
        Ok((filled, received?))
    }

    async fn send(&mut self, buffer: Vec<u8>, bytes: usize) -> io::Result<Vec<u8>> {
        let (sent, slice) = self.write_all(buffer.slice(..bytes)).await;
        sent?;
        Ok(slice.into_inner())
    }

    async fn send_static(&mut self, bytes: &'static [u8]) -> io::Result<()> {
        self.write_all(bytes).await.0.map(drop)
    }

    async fn sleep(time: Duration) {
        monoio::time::sleep(time).await;
    }
}

const RING_ENTRIES: u32 = 1024;
