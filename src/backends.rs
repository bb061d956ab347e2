//! The binding of Cargo features to backends: the only place in the workspace's library code with a `cfg` on a
//! feature. Adding a backend is one line in each part.

use corepool_core::{Config, Server, StartError, WorkerInfo};

/// The backends that are compiled in, by type, and the seam that they implement.
pub mod types {
    #[cfg(feature = "compio")]
    pub use corepool_compio::Compio;
    pub use corepool_core::backend::*;
    #[cfg(feature = "monoio")]
    pub use corepool_monoio::Monoio;
    #[cfg(feature = "tokio")]
    pub use corepool_tokio::Tokio;
}

/// The names of the backends that are compiled in.
pub(crate) const NAMES: &[&str] = &[
    #[cfg(feature = "tokio")]
    "tokio",
    #[cfg(feature = "compio")]
    "compio",
    #[cfg(feature = "monoio")]
    "monoio",
];

/// Starts a server on one backend, with the default configuration of its runtime.
pub(crate) type Start<F> = fn(&Config, F) -> Result<Server, StartError>;

/// How to start each backend, by its name.
pub(crate) fn starts<H: AnyHandler, F: Factory<H>>() -> Vec<(&'static str, Start<F>)> {
    vec![
        #[cfg(feature = "tokio")]
        ("tokio", |config, factory| {
            corepool_core::start::<types::Tokio, H>(config, &Default::default(), factory)
        }),
        #[cfg(feature = "compio")]
        ("compio", |config, factory| {
            corepool_core::start::<types::Compio, H>(config, &Default::default(), factory)
        }),
        #[cfg(feature = "monoio")]
        ("monoio", |config, factory| {
            corepool_core::start::<types::Monoio, H>(config, &Default::default(), factory)
        }),
    ]
}

/// What makes a handler for each worker.
pub(crate) trait Factory<H>: Fn(&WorkerInfo) -> H + Clone + Send + Sync + 'static {}

impl<H, F: Fn(&WorkerInfo) -> H + Clone + Send + Sync + 'static> Factory<H> for F {}

/// A handler that runs on every backend that is compiled in.
///
/// Nobody implements this: whoever implements [`Handler`](corepool_core::Handler) for every `B: Backend` has it.
pub trait AnyHandler: per_feature::OnTokio + per_feature::OnCompio + per_feature::OnMonoio {}

impl<H: per_feature::OnTokio + per_feature::OnCompio + per_feature::OnMonoio> AnyHandler for H {}

/// One bound for each backend: the handler's, if the backend is compiled in, and none otherwise.
#[expect(unnameable_types, reason = "parts of AnyHandler, which has a name")]
mod per_feature {

    #[cfg(feature = "tokio")]
    pub trait OnTokio: corepool_core::Handler<corepool_tokio::Tokio> {}
    #[cfg(feature = "tokio")]
    impl<H: corepool_core::Handler<corepool_tokio::Tokio>> OnTokio for H {}
    #[cfg(not(feature = "tokio"))]
    pub trait OnTokio {}
    #[cfg(not(feature = "tokio"))]
    impl<H> OnTokio for H {}

    #[cfg(feature = "compio")]
    pub trait OnCompio: corepool_core::Handler<corepool_compio::Compio> {}
    #[cfg(feature = "compio")]
    impl<H: corepool_core::Handler<corepool_compio::Compio>> OnCompio for H {}
    #[cfg(not(feature = "compio"))]
    pub trait OnCompio {}
    #[cfg(not(feature = "compio"))]
    impl<H> OnCompio for H {}

    #[cfg(feature = "monoio")]
    pub trait OnMonoio: corepool_core::Handler<corepool_monoio::Monoio> {}
    #[cfg(feature = "monoio")]
    impl<H: corepool_core::Handler<corepool_monoio::Monoio>> OnMonoio for H {}
    #[cfg(not(feature = "monoio"))]
    pub trait OnMonoio {}
    #[cfg(not(feature = "monoio"))]
    impl<H> OnMonoio for H {}
}
