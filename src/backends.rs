//! The binding of Cargo features to backends: the only place in the workspace's library code with a `cfg` on a
//! feature. Adding a backend is one line in each part.

use corepool_core::{Config, Handler, Server, StartError, WorkerInfo, start};

/// The backends by type.
pub(crate) mod types {
    #[cfg(feature = "compio")]
    pub use corepool_compio::Compio;
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

/// Starts the backend of that name, with its default runtime configuration; `None` if it is not compiled in.
pub(crate) fn start_named<H: AnyHandler>(
    name: &str,
    config: &Config,
    factory: impl Fn(&WorkerInfo) -> H + Send + Sync + 'static,
) -> Option<Result<Server, StartError>> {
    match name {
        #[cfg(feature = "tokio")]
        "tokio" => Some(start::<types::Tokio, H>(config, &Default::default(), factory)),
        #[cfg(feature = "compio")]
        "compio" => Some(start::<types::Compio, H>(config, &Default::default(), factory)),
        #[cfg(feature = "monoio")]
        "monoio" => Some(start::<types::Monoio, H>(config, &Default::default(), factory)),
        _ => None,
    }
}

/// A handler that runs on every backend that is compiled in.
///
/// Nobody implements this: whoever implements [`Handler`] for every `B: Backend` has it.
pub trait AnyHandler: per_feature::OnTokio + per_feature::OnCompio + per_feature::OnMonoio {}

impl<H: per_feature::OnTokio + per_feature::OnCompio + per_feature::OnMonoio> AnyHandler for H {}

/// One bound for each backend: the handler's, if the backend is compiled in, and none otherwise.
#[expect(unnameable_types, reason = "parts of AnyHandler, which has a name")]
mod per_feature {
    use super::{Handler, types};

    #[cfg(feature = "tokio")]
    pub trait OnTokio: Handler<types::Tokio> {}
    #[cfg(feature = "tokio")]
    impl<H: Handler<types::Tokio>> OnTokio for H {}
    #[cfg(not(feature = "tokio"))]
    pub trait OnTokio {}
    #[cfg(not(feature = "tokio"))]
    impl<H> OnTokio for H {}

    #[cfg(feature = "compio")]
    pub trait OnCompio: Handler<types::Compio> {}
    #[cfg(feature = "compio")]
    impl<H: Handler<types::Compio>> OnCompio for H {}
    #[cfg(not(feature = "compio"))]
    pub trait OnCompio {}
    #[cfg(not(feature = "compio"))]
    impl<H> OnCompio for H {}

    #[cfg(feature = "monoio")]
    pub trait OnMonoio: Handler<types::Monoio> {}
    #[cfg(feature = "monoio")]
    impl<H: Handler<types::Monoio>> OnMonoio for H {}
    #[cfg(not(feature = "monoio"))]
    pub trait OnMonoio {}
    #[cfg(not(feature = "monoio"))]
    impl<H> OnMonoio for H {}
}
