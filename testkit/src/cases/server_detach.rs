//! A handler that takes its socket out of the server.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;

use async_channel::Sender;
use corepool_core::backend::Detached;
use corepool_core::{Connection, Handler};
use corepool_os::StreamSocket;

use crate::harness::SocketBackend;
use crate::pattern::Pattern;
use crate::peer::Peer;
use crate::served::{config, serve};

pub(super) fn it_comes_with_every_byte_and_works_elsewhere<B: SocketBackend>() {
    let (away, there) = async_channel::unbounded();
    let server = serve::<B, _>(&config(1), Emigrant { away });
    for _ in 0..20 {
        let mut peer = server.connect();
        peer.send(50_000);
        let Emigration { detached, sent, mut received } = there.recv_blocking().unwrap();
        received.check(&detached.unread);
        let rest = 50_000 - usize::try_from(received.position()).unwrap();
        let stream = TcpStream::from(OwnedFd::from(detached.socket));
        stream.set_nonblocking(false).unwrap();
        let mut other = Peer::resume(stream, sent, received);
        other.expect(rest);
        other.send(500);
        peer.expect(1500);
        peer.send(500);
        other.expect(500);
    }
    let stats = server.end();
    assert_eq!(stats.total(|counts| counts.completed), 20);
}

/// A connection on its way out of the server.
struct Emigration {
    detached: Detached<StreamSocket>,
    sent: Pattern,
    received: Pattern,
}

/// Receives and sends a little, and gives the socket away.
#[derive(Debug, Clone)]
struct Emigrant {
    away: Sender<Emigration>,
}

impl<B: SocketBackend> Handler<B> for Emigrant {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        let (mut sent, mut received) = (Pattern::default(), Pattern::default());
        let chunk = connection.recv().await?.unwrap();
        received.check(&chunk);
        connection.send(sent.take(1000)).await?;
        let detached = connection.detach().await?;
        self.away.send(Emigration { detached, sent, received }).await.unwrap();
        Ok(())
    }
}
