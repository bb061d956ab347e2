//! A connection of a runtime that is used by hand, and the one loop that all of
//! them share for whatever is more than an echo.
//!
//! Buffers are owned and handed back, as the rings want it; what waits for
//! readiness has no trouble with that.

use std::io;
use std::time::Duration;

use super::RECEIVE_BUFFER_BYTES;
use super::session::{Action, Script};

/// What a runtime's stream must do.
pub(super) trait Wire {
    /// Receives into a buffer, in place of what is in it, and hands it back with how much that was; nothing
    /// at the end.
    fn receive(&mut self, buffer: Vec<u8>) -> impl Future<Output = io::Result<(Vec<u8>, usize)>>;
    /// Sends so much of a buffer, and hands it back.
    fn send(&mut self, buffer: Vec<u8>, bytes: usize) -> impl Future<Output = io::Result<Vec<u8>>>;
    /// Sends all of it.
    fn send_static(&mut self, bytes: &'static [u8]) -> impl Future<Output = io::Result<()>>;
    /// Sleeps.
    fn sleep(time: Duration) -> impl Future<Output = ()>;
}

/// Does what the script says until the client has finished or gone; how it went
/// is the client's to count.
pub(super) async fn converse<W: Wire>(mut wire: W, script: Script) -> io::Result<()> {
    if script.is_echo() {
        return echo(wire).await;
    }
    let mut session = script.session();
    let mut buffer = vec![0; RECEIVE_BUFFER_BYTES];
    loop {
        let (filled, received) = wire.receive(buffer).await?;
        if received == 0 {
            return Ok(());
        }
        buffer = filled;
        session.receive(&buffer[..received]);
        while let Some(action) = session.next() {
            match action {
                Action::Echo => buffer = wire.send(buffer, received).await?,
                Action::Send(bytes) => wire.send_static(bytes).await?,
                Action::Wait(time) => W::sleep(time).await,
                Action::Close => return Ok(()),
            }
        }
    }
}

/// The same for an echo, which is measured most closely, without asking a session.
async fn echo(mut wire: impl Wire) -> io::Result<()> {
    let mut buffer = vec![0; RECEIVE_BUFFER_BYTES];
    loop {
        let (filled, received) = wire.receive(buffer).await?;
        if received == 0 {
            return Ok(());
        }
        buffer = wire.send(filled, received).await?;
    }
}
