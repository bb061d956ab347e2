//! Pools of several cores that help each other out: what they share, and what they say to each other.
//!
//! * [`Sharing`]: what a user makes them know each other by. `desk`: where they do.
//! * `signs`: what each shows the others, in two words: wishes and offers.
//! * `parcel`: what travels, and cannot be lost. `branch`: one pool's side of all that.
//!
//! Which slot is lent, and which is given back first, is decided in `slots`; `borrowing` does it.

mod branch;
mod desk;
mod parcel;
mod signs;

#[cfg(all(test, corepool_loom))]
mod models;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;

use super::{Movable, Resource};

pub(crate) use branch::Branch;
use desk::Desks;
pub(crate) use parcel::{Debt, Journey, Load, Packed, Parcel, Promise};

/// What pools of several cores have in common when they help each other out. Make one before the server, and give it to
/// the [builder](super::Builder::share) of each worker's pool. Clones are the same.
///
/// ```
/// use corepool_core::pool::{Sharing, Upstream};
/// use corepool_core::{Backend, LocalPool, Outbound, WorkerInfo};
///
/// fn pools<B: Backend>(upstream: Upstream) -> impl Fn(&WorkerInfo) -> LocalPool<Outbound<B>> {
///     let sharing = Sharing::new();
///     move |worker| {
///         let builder = LocalPool::builder().max_total(256).share(&sharing);
///         builder.build(worker, upstream.clone()).expect("sizes that fit")
///     }
/// }
/// ```
pub struct Sharing<R: Resource> {
    desks: Arc<Desks<R>>,
}

impl<R: Resource> Sharing<R> {
    /// Nobody shares yet.
    pub fn new() -> Self {
        Self { desks: Arc::new(Desks::new()) }
    }

    /// How many pools share.
    pub fn pools(&self) -> usize {
        self.desks.len()
    }
}

impl<R: Resource> Default for Sharing<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Resource> Clone for Sharing<R> {
    fn clone(&self) -> Self {
        Self { desks: Arc::clone(&self.desks) }
    }
}

impl<R: Resource> fmt::Debug for Sharing<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sharing").field("pools", &self.pools()).finish_non_exhaustive()
    }
}

/// Takes a resource off its core, whatever its own code does.
pub(crate) type Pack<R> = fn(R) -> Packing<R>;
/// The future of it.
pub(crate) type Packing<R> = Pin<Box<dyn Future<Output = Option<Packed<R>>>>>;

/// What a pool needs to share: kept by its builder, which alone knows that its resources are movable.
pub(crate) struct Joining<R: Resource> {
    desks: Arc<Desks<R>>,
    pack: Pack<R>,
}

impl<R: Movable> Joining<R> {
    pub(crate) fn new(sharing: &Sharing<R>) -> Self {
        Self { desks: Arc::clone(&sharing.desks), pack }
    }
}

fn pack<R: Movable>(resource: R) -> Packing<R> {
    // Nothing that a panic may have left half done is used again.
    let packing = AssertUnwindSafe(async move { resource.pack().await }).catch_unwind();
    Box::pin(async move {
        let packed = packing.await.ok().flatten()?;
        let unpack: Packed<R> = Box::new(move |source| R::unpack(packed, source));
        Some(unpack)
    })
}
