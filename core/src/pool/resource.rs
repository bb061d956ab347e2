//! What a pool can hold.

use std::future::{Future, ready};

/// Something worth keeping: a connection to a database, a compressor, a parser with its tables, a large buffer.
///
/// The pool calls these methods; nobody else has the resource meanwhile.
pub trait Resource: Sized + 'static {
    /// What it is made from: addresses and passwords, a size, or `()`. The pool owns one.
    type Source: 'static;
    /// Why it could not be made.
    type Error;

    /// Makes one.
    ///
    /// # Errors
    /// Passed on to who asked the pool for it.
    ///
    /// # Cancel safety
    /// The future is dropped when who asked gives up or the acquire timeout ends.
    fn create(source: &Self::Source) -> impl Future<Output = Result<Self, Self::Error>>;

    /// Whether an idle one is still good, asked before it is lent out; `false` drops it. Default: it is.
    ///
    /// # Cancel safety
    /// When the future is dropped, the resource is dropped as well: a check may have left it in the middle of something.
    fn check(&mut self) -> impl Future<Output = bool> {
        ready(true)
    }

    /// Makes it ready for its next user, when it comes back; `false` drops it. Default: it is ready.
    ///
    /// This is where a resource that was left in the middle of something must say so. It is not asked about one that
    /// comes back while its thread panics; that one is dropped.
    fn recycle(&mut self) -> bool {
        true
    }
}
