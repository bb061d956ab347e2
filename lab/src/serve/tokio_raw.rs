//! `tokio-raw`: the echo by hand on tokio, a `LocalRuntime` per worker.
//!
//! `read` rather than `try_read`: a read that does not fill the buffer clears
//! the readiness, which saves a `recv` that only says that nothing is left.

use std::io;
use std::net::TcpListener;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use super::RECEIVE_BUFFER_BYTES;
use super::workers::Readiness;

pub(super) fn run(listener: TcpListener, ready: Readiness) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build_local(Default::default())?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::task::spawn_local(echo(stream));
        }
    })
}

/// Echoes until the client has finished or gone; how it went is the client's
/// to count.
async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; RECEIVE_BUFFER_BYTES];
    loop {
        let received = stream.read(&mut buffer).await?;
        if received == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..received]).await?;
    }
}
