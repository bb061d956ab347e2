//! `smol-per-core`: a `LocalExecutor` per worker. The readiness of all sockets
//! comes from one epoll set of the process, as smol has it.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, LocalExecutor, Timer};

use crate::serve::session::Script;
use crate::serve::wire::{Wire, converse};
use crate::serve::workers::Readiness;

/// One worker.
pub(crate) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let executor = LocalExecutor::new();
    smol::block_on(executor.run(async {
        let listener = Async::new_nonblocking(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.get_ref().set_nodelay(true)?;
            executor.spawn(converse(stream, script)).detach();
        }
    }))
}

impl Wire for Async<TcpStream> {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> io::Result<(Vec<u8>, usize)> {
        let received = self.read(&mut buffer).await?;
        Ok((buffer, received))
    }

    async fn send(&mut self, buffer: Vec<u8>, bytes: usize) -> io::Result<Vec<u8>> {
        self.write_all(&buffer[..bytes]).await?;
        Ok(buffer)
    }

    async fn send_static(&mut self, bytes: &'static [u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }

    async fn sleep(time: Duration) {
        Timer::after(time).await;
    }
}
