//! Names to addresses. The system's resolver blocks its thread, so it is asked on a thread of its own.

use std::io;
use std::sync::LazyLock;
use std::thread;

use async_channel::{Receiver, Sender};

use crate::address::Address;

/// How many lookups a process has under way; the others wait.
const LOOKUPS_MAX: usize = 16;

/// A seat is taken by sending into the channel, and given back by receiving from it.
static SEATS: LazyLock<(Sender<()>, Receiver<()>)> = LazyLock::new(|| async_channel::bounded(LOOKUPS_MAX));

/// As [`Address::resolve`], without blocking this core: a name is looked up on a thread that lives as long as that
/// takes, of which the process has 16 at the most.
///
/// # Errors
/// As [`Address::resolve`], or the thread cannot be started.
///
/// # Cancel safety
/// Dropping the future loses the answer and nothing else; the thread ends when the resolver does.
pub async fn lookup(text: &str) -> io::Result<Vec<Address>> {
    let (take, give_back) = &*SEATS;
    take.send(()).await.map_err(io::Error::other)?;
    let seat = Seat(give_back);
    let (answer, answered) = async_channel::bounded(1);
    let text = text.to_owned();
    thread::Builder::new().name("corepool-lookup".into()).spawn(move || {
        let _seat = seat;
        let _nobody_waits = answer.try_send(Address::resolve(&text));
    })?;
    answered.recv().await.map_err(io::Error::other)?
}

/// Given back on drop.
struct Seat(&'static Receiver<()>);

impl Drop for Seat {
    fn drop(&mut self) {
        let _taken_before = self.0.try_recv();
    }
}
