//! The limit on open descriptors, which is a limit on connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes sure that so many sockets can be open at once.
///
/// # Errors
/// When the hard limit is too low.
pub fn provide(sockets: usize) -> Result<(), DescriptorError> {
    let needed = (sockets as u64).saturating_add(OTHERS);
    raise();
    match getrlimit(Resource::Nofile).current {
        Some(allowed) if allowed < needed => Err(DescriptorError { needed, allowed }),
        _ => Ok(()),
    }
}

/// Raises the soft limit to the hard one, for this process and the children
/// that it starts from now on.
pub fn raise() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raised = Rlimit { current: maximum, maximum };
    // Where it stays as it was, whoever needs more finds out.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// Fewer descriptors than the connections need.
#[derive(Debug, thiserror::Error)]
#[error(
    "so many connections need {needed} open descriptors, but only {allowed} are allowed; \
     raise the hard limit (`ulimit -Hn`) or lower --conns"
)]
pub struct DescriptorError {
    needed: u64,
    allowed: u64,
}

/// What a process has open besides its connections.
const OTHERS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sockets_are_always_there_and_absurdly_many_never() {
        provide(1).unwrap();
        if let Some(most) = getrlimit(Resource::Nofile).maximum {
            let error = provide(usize::try_from(most).unwrap()).unwrap_err();
            assert!(error.to_string().contains("ulimit -Hn"), "{error}");
        }
    }
}
