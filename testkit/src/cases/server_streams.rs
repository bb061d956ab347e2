//! Connections as `futures_io` streams.

use std::io;

use corepool_core::stream::Stream;
use corepool_core::{Backend, Connection, Handler};
use futures_util::io::{AsyncReadExt, AsyncWriteExt};

use crate::harness::SocketBackend;
use crate::served::{config, serve};

pub(super) fn everything_comes_back_through_borrowed_buffers<B: SocketBackend>() {
    let server = serve::<B, _>(&config(1), Copier);
    let mut peer = server.connect();
    for size in [1, 512, 16 << 10, 1 << 20] {
        peer.exchange(size);
    }
    peer.half_close();
    peer.expect_end();
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 1);
}

/// Echoes as code does that knows nothing of loans.
#[derive(Debug, Clone, Copy)]
struct Copier;

impl<B: Backend> Handler<B> for Copier {
    async fn serve(&self, connection: Connection<B>) -> io::Result<()> {
        let mut stream = Stream::from(connection);
        let mut space = [0; 1000];
        loop {
            match stream.read(&mut space).await? {
                0 => return stream.close().await,
                count => stream.write_all(&space[..count]).await?,
            }
            stream.flush().await?;
        }
    }
}
