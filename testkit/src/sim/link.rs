//! One connection in memory, as TCP would have it: two directions, half closes, resets.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use corepool_core::address::Address;
use corepool_core::backend::Socket;

use super::world::World;

/// One end of a connection. Dropping it closes that end: in order, or by a reset if input was left unread.
///
/// It can leave the thread, as a socket can; outside of its world it can only be dropped.
pub struct SimulatedSocket {
    link: Arc<Mutex<Link>>,
    /// Which end it is.
    side: usize,
    /// The other end, until a listener has taken it.
    knocking: Option<Box<Self>>,
}

/// Both directions, under one lock: what happens at one end happens at once for both. The lock is there only
/// because a socket is `Send`.
struct Link {
    ends: [End; 2],
    capacity: usize,
}

/// One end, and the direction that leads to it.
struct End {
    address: SocketAddr,
    /// What has been sent to it.
    inbound: VecDeque<u8>,
    /// The other end sends nothing more.
    at_end: bool,
    /// It does not want to receive any more (`SHUT_RD`).
    deaf: bool,
    /// It sends nothing more (`SHUT_WR`).
    finished: bool,
    /// Its socket is closed.
    closed: bool,
    /// Closing it resets the connection.
    resets: bool,
    /// The other end has reset the connection.
    reset: Reset,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Whether an end was reset, and whether it has been told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reset {
    No,
    Untold,
    Told,
}

/// Both ends of a new connection, in this thread's world.
pub(super) fn connect(addresses: [SocketAddr; 2], capacity: usize) -> [SimulatedSocket; 2] {
    let link = Arc::new(Mutex::new(Link { ends: addresses.map(End::new), capacity }));
    [0, 1].map(|side| SimulatedSocket { link: Arc::clone(&link), side, knocking: None })
}

impl SimulatedSocket {
    /// Knocks at the address that it connects to: whether a listener has taken the other end.
    pub(super) fn knock(&mut self) -> io::Result<bool> {
        let Some(theirs) = self.knocking.take() else { return Ok(true) };
        let address = self.lock().ends[1 - self.side].address;
        let back =
            World::with(|world| world.network.offer(address, *theirs, &mut world.random.borrow_mut()))?;
        self.knocking = back.map(Box::new);
        Ok(self.knocking.is_none())
    }

    /// Reads some of what has arrived; 0 bytes at the end of the stream.
    pub(super) fn poll_read(&self, cx: &Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut link = self.lock();
        let [own, other] = link.ends(self.side);
        if own.inbound.is_empty() {
            return own.poll_end(cx).map_ok(|()| 0);
        }
        let count = World::share(own.inbound.len().min(space.len()));
        for (place, byte) in space.iter_mut().zip(own.inbound.drain(..count)) {
            *place = byte;
        }
        other.wake_writer();
        Poll::Ready(Ok(count))
    }

    /// Waits until a read would not wait.
    pub(super) fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        let mut link = self.lock();
        let [own, _] = link.ends(self.side);
        if !own.inbound.is_empty() || own.reset == Reset::Untold {
            return Poll::Ready(());
        }
        own.poll_end(cx).map(drop)
    }

    /// Writes some of `bytes`.
    pub(super) fn poll_write(&self, cx: &Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut link = self.lock();
        let capacity = link.capacity;
        let [own, other] = link.ends(self.side);
        match own.reset {
            Reset::Untold if !own.at_end => {
                own.reset = Reset::Told;
                return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
            }
            Reset::No if !own.finished => {}
            _ => return Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        }
        if other.closed {
            own.be_reset(); // the bytes are on their way, and this is what comes back
            return Poll::Ready(Ok(bytes.len()));
        }
        let room = capacity.saturating_sub(other.inbound.len());
        if room == 0 && !bytes.is_empty() {
            own.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let count = World::share(room.min(bytes.len()));
        other.inbound.extend(&bytes[..count]);
        other.wake_reader();
        Poll::Ready(Ok(count))
    }

    /// As `shutdown(2)`.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let mut link = self.lock();
        let [own, other] = link.ends(self.side);
        if own.reset != Reset::No {
            return Err(ErrorKind::NotConnected.into());
        }
        if matches!(how, Shutdown::Read | Shutdown::Both) {
            own.deaf = true;
            own.wake_reader();
        }
        if matches!(how, Shutdown::Write | Shutdown::Both) {
            own.finished = true;
            own.wake_writer();
            other.at_end = true;
            other.wake_reader();
        }
        Ok(())
    }

    /// Takes a part of what has arrived, as a receive in flight would have.
    pub(super) fn take_some(&self) -> Vec<u8> {
        let mut link = self.lock();
        let [own, other] = link.ends(self.side);
        let count = World::with(|world| world.random.borrow_mut().usize(0..=own.inbound.len()));
        other.wake_writer();
        own.inbound.drain(..count).collect()
    }

    /// Its close will be a reset.
    pub(super) fn reset_on_close(&self) {
        let mut link = self.lock();
        let [own, _] = link.ends(self.side);
        own.resets = true;
    }

    /// How much of what was sent the other end has not read.
    pub(super) fn unread_by_peer(&self) -> usize {
        self.lock().ends[1 - self.side].inbound.len()
    }

    fn lock(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SimulatedSocket {
    fn drop(&mut self) {
        let mut link = self.lock();
        let [own, other] = link.ends(self.side);
        if own.closed {
            return; // by a reset
        }
        if own.resets || !own.inbound.is_empty() {
            return link.reset(self.side);
        }
        own.closed = true;
        other.at_end = true;
        other.wake_reader();
        other.wake_writer();
    }
}

impl Socket for SimulatedSocket {
    fn connect(to: &Address) -> io::Result<Self> {
        // Nobody listens on a path in here.
        let address = to.as_ip().ok_or(ErrorKind::NotFound)?;
        let [mut ours, theirs] =
            World::with(|world| connect([world.network.client(), address], world.capacity()));
        ours.knocking = Some(Box::new(theirs));
        Ok(ours)
    }

    fn peer_addr(&self) -> io::Result<Address> {
        Ok(self.lock().ends[1 - self.side].address.into())
    }

    fn local_addr(&self) -> io::Result<Address> {
        Ok(self.lock().ends[self.side].address.into())
    }

    fn has_left(&self) -> bool {
        let own = &self.lock().ends[self.side];
        own.reset != Reset::No || (own.at_end && own.inbound.is_empty())
    }

    fn reset(self) {
        self.lock().reset(self.side);
    }
}

impl fmt::Debug for SimulatedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = self.lock();
        let [own, other] = [self.side, 1 - self.side].map(|side| link.ends[side].address);
        f.debug_struct("SimulatedSocket").field("own", &own).field("other", &other).finish()
    }
}

impl Link {
    /// The end of that side, and the other.
    fn ends(&mut self, side: usize) -> [&mut End; 2] {
        let [first, second] = &mut self.ends;
        if side == 0 { [first, second] } else { [second, first] }
    }

    /// That side resets the connection. What was on its way to the other end may be lost.
    fn reset(&mut self, side: usize) {
        let [own, other] = self.ends(side);
        own.closed = true;
        own.inbound.clear();
        if !other.closed {
            let kept = World::try_with(|world| world.random.borrow_mut().usize(0..=other.inbound.len()));
            other.inbound.truncate(kept.unwrap_or_default());
            other.be_reset();
        }
    }
}

impl End {
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            inbound: VecDeque::new(),
            at_end: false,
            deaf: false,
            finished: false,
            closed: false,
            resets: false,
            reset: Reset::No,
            reader: None,
            writer: None,
        }
    }

    /// With nothing to read: the error, the end, or a wait.
    fn poll_end(&mut self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        if self.at_end || self.deaf || self.reset == Reset::Told {
            return Poll::Ready(Ok(()));
        }
        if self.reset == Reset::Untold {
            self.reset = Reset::Told;
            return Poll::Ready(Err(ErrorKind::ConnectionReset.into()));
        }
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    fn be_reset(&mut self) {
        self.reset = Reset::Untold;
        self.wake_reader();
        self.wake_writer();
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}
