//! Parts of the admission path by themselves, for benches. Not part of the interface.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use async_channel::{Receiver, Sender};

use crate::admission::Gates;
use crate::handoff::Room;
use crate::mail::{Envelope, Parcel};

/// The permits of one worker that nobody else uses.
#[derive(Debug)]
pub struct Permits(Gates);

impl Permits {
    /// So many of them.
    pub fn new(limit: u32) -> Self {
        Self(Gates::new(1, limit))
    }

    /// Takes a permit and gives it back, as a connection does that is served where it was accepted; says whether
    /// there was one.
    #[inline]
    pub fn take_and_release(&self) -> bool {
        let release = |worker: usize| {
            self.0.gate(worker).try_release();
        };
        Room::new(&self.0, &release).reserve(0).is_some()
    }
}

/// The way to a worker's mailbox, for another one.
#[derive(Debug)]
pub struct Way<S> {
    gates: Arc<Gates>,
    mailbox: Sender<Parcel<S>>,
}

/// A worker's mailbox, by itself. It ends when its [`Way`] does.
#[derive(Debug)]
pub struct Mailbox<S> {
    gates: Arc<Gates>,
    parcels: Receiver<Parcel<S>>,
}

/// A mailbox and the way to it.
pub fn way<S>() -> (Way<S>, Mailbox<S>) {
    let (mailbox, parcels) = async_channel::unbounded();
    let gates = Arc::new(Gates::new(1, 1024));
    (Way { gates: Arc::clone(&gates), mailbox }, Mailbox { gates, parcels })
}

impl<S> Way<S> {
    /// What a transfer does on the accepting worker: reserves a permit of the other, and sends.
    ///
    /// # Panics
    /// When more than 1024 are on their way.
    pub fn hand_over(&self, socket: S) {
        let release = |worker: usize| _ = self.gates.gate(worker).try_release();
        let reserved = Room::new(&self.gates, &release).reserve(0).expect("few are on their way");
        let from = reserved.spend();
        let envelope = Envelope { socket, peer: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), client: None };
        let _ = self.mailbox.try_send(Parcel::HandedOff { envelope, from });
    }
}

impl<S> Mailbox<S> {
    /// What was sent, if something was; its permit goes back.
    pub fn try_receive(&self) -> Option<S> {
        self.open(self.parcels.try_recv().ok()?)
    }

    /// Waits for the next; `None` at the end.
    pub async fn receive(&self) -> Option<S> {
        self.open(self.parcels.recv().await.ok()?)
    }

    fn open(&self, parcel: Parcel<S>) -> Option<S> {
        let Parcel::HandedOff { envelope, .. } = parcel else { return None };
        self.gates.gate(0).try_release();
        Some(envelope.socket)
    }
}
