//! What a user wants to be told of a pool's resources.

use super::stats::Retired;

type Hook<R> = Option<Box<dyn Fn(&mut R)>>;
type RetireHook<R> = Option<Box<dyn Fn(&mut R, Retired)>>;

/// The hooks of a pool; none, unless the user has set some.
pub(crate) struct Hooks<R> {
    pub(crate) create: Hook<R>,
    pub(crate) acquire: Hook<R>,
    pub(crate) release: Hook<R>,
    pub(crate) retire: RetireHook<R>,
}

impl<R> Default for Hooks<R> {
    fn default() -> Self {
        Self { create: None, acquire: None, release: None, retire: None }
    }
}

/// Calls a hook that may not be there.
#[inline]
pub(crate) fn call<R>(hook: &Hook<R>, resource: &mut R) {
    if let Some(hook) = hook {
        hook(resource);
    }
}
