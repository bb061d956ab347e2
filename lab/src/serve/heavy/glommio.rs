//! `glommio-per-core`: a `LocalExecutor` per worker, with three rings each.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use glommio::net::TcpStream;
use glommio::{GlommioError, LocalExecutorBuilder, Placement};
use rustix::process::{Resource, getrlimit};

use crate::serve::ring::explain;
use crate::serve::session::Script;
use crate::serve::wire::{Wire, converse};
use crate::serve::workers::Readiness;

/// One worker; the thread has been pinned already.
pub(crate) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    check_lockable_memory()?;
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

/// glommio wants this much before it tries, and its own words for less are hard to read.
fn check_lockable_memory() -> io::Result<()> {
    match getrlimit(Resource::Memlock).current {
        Some(limit) if limit < LOCKABLE_BYTES_MIN => Err(io::Error::other(format!(
            "glommio needs {LOCKABLE_BYTES_MIN} bytes of lockable memory, and RLIMIT_MEMLOCK is {limit}; raise \
             `ulimit -l`"
        ))),
        _ => Ok(()),
    }
}

fn refused(error: GlommioError<()>) -> io::Error {
    match error {
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

const LOCKABLE_BYTES_MIN: u64 = 512 * 1024;
const RING_ENTRIES: usize = 1024;
/// Registered for files, of which there are none; it counts as locked memory.
const REGISTERED_BYTES: usize = 64 * 1024;
