//! A client in a simulated world.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use corepool_core::backend::{Backend, Socket};

use super::Simulated;
use super::link::SimulatedSocket;
use super::world::World;

/// How long a client waits, at the most, before it knocks again at a full queue; as long as TCP does at first.
const KNOCK_AGAIN: Duration = Duration::from_secs(1);

/// How long one waits this time. Not all wait equally long, so that they do not come at the same moment again.
pub(super) fn pause() -> Duration {
    KNOCK_AGAIN.mul_f64(World::with(|world| world.random.borrow_mut().f64()))
}

/// How often a client knocks before it gives up.
const KNOCKS: usize = 20;

/// One end of a connection, in the hands of a scenario. Dropping it closes it: in order, or by a reset if input
/// was left unread.
#[derive(Debug)]
pub struct Client {
    socket: SimulatedSocket,
}

impl Client {
    /// Connects to a listener of this thread's world.
    ///
    /// # Errors
    /// Nobody listens there, or those who do have not accepted anybody for long.
    pub async fn connect(address: SocketAddr) -> io::Result<Self> {
        let mut socket = SimulatedSocket::connect(&address.into())?;
        for _ in 0..KNOCKS {
            if socket.knock()? {
                return Ok(Self { socket });
            }
            Simulated::sleep(pause()).await;
        }
        Err(ErrorKind::TimedOut.into())
    }

    /// Reads some of what has arrived; 0 bytes at the end of the stream.
    ///
    /// # Errors
    /// The server has reset the connection.
    pub async fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.socket.poll_read(cx, space)).await
    }

    /// Fills `space`.
    ///
    /// # Errors
    /// As [`read`](Self::read); and when the stream ends too soon.
    pub async fn read_exact(&self, space: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < space.len() {
            match self.read(&mut space[filled..]).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// Reads to the end of the stream.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_to_end(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut space = [0; 4096];
        loop {
            match self.read(&mut space).await? {
                0 => return Ok(bytes),
                count => bytes.extend_from_slice(&space[..count]),
            }
        }
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The server has closed or reset the connection.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = poll_fn(|cx| self.socket.poll_write(cx, bytes)).await?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Sends no more.
    ///
    /// # Errors
    /// The connection has been reset.
    pub fn finish(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    /// Closes by a reset.
    pub fn reset(self) {
        Socket::reset(self.socket);
    }
}
