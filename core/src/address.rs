//! Where a connection leads to.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The address of a stream socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "backends match every kind; a new one must not compile unseen")]
pub enum Address {
    /// TCP.
    Ip(SocketAddr),
    /// A Unix-domain socket. The path of an unnamed one is empty; one that begins with a NUL byte is in Linux's
    /// abstract namespace.
    Unix(PathBuf),
}

impl Address {
    /// The addresses that a text means: `unix:` and a path, or a host and a port as in `127.0.0.1:6379`,
    /// `[::1]:6379` and `redis.example:6379`; a name may have several, the best first.
    ///
    /// **This blocks the thread** for as long as the system's resolver takes, if the host is a name. Call it before
    /// the server starts or in the handler's factory. While connections are served [`connect::lookup`](crate::connect::lookup)
    /// does the same and blocks nobody.
    ///
    /// # Errors
    /// The text is no address, or the name has none.
    pub fn resolve(text: &str) -> io::Result<Vec<Self>> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(vec![Self::Unix(path.into())]);
        }
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot resolve {text}: {error}"));
        let found: Vec<_> = text.to_socket_addrs().map_err(named)?.map(Self::Ip).collect();
        if found.is_empty() { Err(named(io::ErrorKind::NotFound.into())) } else { Ok(found) }
    }

    /// The IP address and port, if it has them.
    pub fn as_ip(&self) -> Option<SocketAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Ip(address)
    }
}

impl<I: Into<IpAddr>> From<(I, u16)> for Address {
    fn from(address: (I, u16)) -> Self {
        Self::Ip(address.into())
    }
}

impl From<PathBuf> for Address {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

/// As [`Address::resolve`] reads it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_an_address_and_back() {
        for text in ["127.0.0.1:6379", "[::1]:80", "unix:/run/redis.sock"] {
            let [address] = &Address::resolve(text).expect("an address")[..] else { panic!("one address") };
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_named_in_the_error() {
        for text in ["", "127.0.0.1", "127.0.0.1:port", "127.0.0.1:65536"] {
            let error = Address::resolve(text).expect_err("no address");
            assert!(error.to_string().contains(&format!("cannot resolve {text}: ")), "{error}");
        }
    }
}
