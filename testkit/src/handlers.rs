//! Handlers that several cases and scenarios use.

use std::future::pending;
use std::io;

use corepool_core::{Backend, Connection, Handler};

/// Sends everything back.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct Echo;

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = connection.recv().await? {
            connection.send(chunk).await?;
        }
        Ok(())
    }
}

/// Waits for something that is not its socket, for ever.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "it has no settings")]
pub struct Sleeper;

impl<B: Backend> Handler<B> for Sleeper {
    async fn serve(&self, _connection: Connection<B>) -> io::Result<()> {
        pending().await
    }
}
