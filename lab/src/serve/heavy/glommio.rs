//! `glommio-per-core`: a `LocalExecutor` per worker, with three rings each.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use glommio::net::TcpStream;
use glommio::{GlommioError, LocalExecutorBuilder, Placement, ReactorErrorKind};

use crate::serve::ring::explain;
use crate::serve::session::Script;
use crate::serve::wire::{Wire, converse};
use crate::serve::workers::Readiness;

/// One worker; the thread has been pinned already.
pub(crate) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let executor = LocalExecutorBuilder::new(Placement::Unbound)
        .ring_depth(RING_ENTRIES)
        .io_memory(REGISTERED_BYTES)
        .make()
        .map_err(refused)?;
    executor.run(async {
        // It cannot take a listener. Ours keeps the port until there is its own.
        let own = glommio::net::TcpListener::bind(listener.local_addr()?)?;
        drop(listener);
        ready.announce();
        loop {
            let stream = own.accept().await?;
            stream.set_nodelay(true)?;
            glommio::spawn_local(converse(stream, script)).detach();
        }
    })
}

/// Why there is no executor, and what to do about it.
fn refused(error: GlommioError<()>) -> io::Error {
    match error {
        GlommioError::ReactorError(ReactorErrorKind::MemLockLimit(limit, least)) => {
            io::Error::other(format!(
                "glommio needs {least} bytes of lockable memory, and RLIMIT_MEMLOCK is {limit}; raise `ulimit -l`"
            ))
        }
        GlommioError::IoError(error) => explain(error),
        error => io::Error::other(error.to_string()),
    }
}

impl Wire for TcpStream {
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
        glommio::timer::sleep(time).await;
    }
}

const RING_ENTRIES: usize = 1024;
/// Registered for files, of which there are none; it counts as locked memory.
const REGISTERED_BYTES: usize = 64 * 1024;
