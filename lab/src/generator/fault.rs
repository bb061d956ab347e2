//! What can go wrong with a request, and how often it did.

use std::fmt;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Why a connection was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It could not be made.
    Connect(Errno),
    /// It broke while a request was under way.
    Broken(Errno),
    /// The server closed it before the reply was complete.
    Closed,
    /// The server sent bytes that are not the reply.
    WrongBytes,
    /// No reply came for too long.
    Stalled,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "cannot connect: {error}"),
            Self::Broken(error) => write!(f, "connection broken: {error}"),
            Self::Closed => f.write_str("connection closed before the reply was complete"),
            Self::WrongBytes => f.write_str("reply with wrong bytes"),
            Self::Stalled => write!(f, "no reply for {} seconds", super::fleet::STALLED_AFTER_LOOKS),
        }
    }
}

/// Lost requests, by what happened to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Faults {
    /// Connections that could not be made.
    pub connect: u64,
    /// Connections that broke while a request was under way.
    pub broken: u64,
    /// Connections that the server closed before the reply was complete.
    pub closed: u64,
    /// Replies with wrong bytes.
    pub wrong_bytes: u64,
    /// Requests without a reply when the slice was given up.
    pub stalled: u64,
    /// What the first of them was, in words.
    pub first: Option<String>,
}

impl Faults {
    /// How many requests were lost.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.connect + self.broken + self.closed + self.wrong_bytes + self.stalled
    }

    /// Counts those of another thread or slice too.
    pub fn add(&mut self, other: &Self) {
        self.connect += other.connect;
        self.broken += other.broken;
        self.closed += other.closed;
        self.wrong_bytes += other.wrong_bytes;
        self.stalled += other.stalled;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// So many requests were lost because of it.
    pub(super) fn count(&mut self, fault: Fault, requests: u64) {
        match fault {
            Fault::Connect(_) => self.connect += requests,
            Fault::Broken(_) => self.broken += requests,
            Fault::Closed => self.closed += requests,
            Fault::WrongBytes => self.wrong_bytes += requests,
            Fault::Stalled => self.stalled += requests,
        }
        self.first.get_or_insert_with(|| fault.to_string());
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = self.total();
        write!(f, "{lost} lost request{}", if lost == 1 { "" } else { "s" })?;
        match &self.first {
            Some(first) => write!(f, " (first: {first})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_counted_and_the_first_is_told() {
        let mut faults = Faults::default();
        faults.count(Fault::WrongBytes, 1);
        let mut others = Faults::default();
        others.count(Fault::Connect(Errno::CONNREFUSED), 1);
        others.count(Fault::Broken(Errno::CONNRESET), 1);
        others.count(Fault::Closed, 1);
        others.count(Fault::Stalled, 1);
        faults.add(&others);
        assert_eq!(faults.total(), 5);
        assert_eq!(faults.to_string(), "5 lost requests (first: reply with wrong bytes)");
    }
}
