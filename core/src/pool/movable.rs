//! What can be moved from the pool of one core to that of another.

use std::future::Future;

use super::{Resource, Upstream};
use crate::address::Address;
use crate::backend::{Backend, Conn, Detached};
use crate::outbound::Outbound;

/// A resource that can leave its core, for pools that [share](super::Builder::share).
///
/// Only what nobody uses is moved.
pub trait Movable: Resource {
    /// What travels.
    type Packed: Send + 'static;

    /// Takes it off its core. `None`: that cannot be done, and it is gone; the other pool makes a new one then.
    ///
    /// # Cancel safety
    /// The future is dropped when the pool is dropped or its worker leaves, or after the acquire timeout.
    fn pack(self) -> impl Future<Output = Option<Self::Packed>>;

    /// Takes it in on another core. `None`: that cannot be done, and it is gone.
    fn unpack(packed: Self::Packed, source: &Self::Source) -> Option<Self>;
}

/// The descriptor travels, with what was received and not read; the latter fails the check where it arrives, since nobody
/// has asked for it. One that its peer has closed is not moved. A worker that looked after it
/// ([`tended_by`](Outbound::tended_by)) does so no more.
impl<B: Backend> Movable for Outbound<B> {
    type Packed = (Detached<B::Socket>, Address);

    async fn pack(mut self) -> Option<Self::Packed> {
        if !self.is_settled() || !self.is_quiet() {
            return None;
        }
        let detached = self.detach().await.ok()?;
        Some((detached, self.address().clone()))
    }

    fn unpack((detached, address): Self::Packed, _source: &Upstream) -> Option<Self> {
        Some(Self::new(B::Conn::attach(detached).ok()?, address))
    }
}
