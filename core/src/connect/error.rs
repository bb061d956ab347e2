//! Why a connection could not be opened: every address, and what became of it.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use crate::address::Address;

/// No address could be connected to.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConnectError {
    /// Every address, in the order in which they were given.
    pub attempts: Vec<Attempt>,
    /// How much time there was.
    pub deadline: Duration,
}

/// What became of one address.
#[derive(Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The address.
    pub address: Address,
    /// What it answered; `TimedOut` if nothing, until the deadline.
    pub error: io::Error,
}

impl ConnectError {
    /// The kind of the last error that is not a timeout; `TimedOut` if nobody has answered, `InvalidInput` if there was
    /// no address.
    pub fn kind(&self) -> io::ErrorKind {
        let kinds = || self.attempts.iter().rev().map(|attempt| attempt.error.kind());
        let answered = kinds().find(|kind| *kind != io::ErrorKind::TimedOut);
        answered.or_else(|| kinds().next()).unwrap_or(io::ErrorKind::InvalidInput)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attempts[..] {
            [] => return f.write_str("cannot connect: no address was given"),
            [_] => f.write_str("cannot connect to ")?,
            more => write!(f, "cannot connect to any of {} addresses: ", more.len())?,
        }
        for (position, Attempt { address, error }) in self.attempts.iter().enumerate() {
            let separator = if position == 0 { "" } else { "; " };
            match error.kind() {
                io::ErrorKind::TimedOut => {
                    write!(f, "{separator}{address}: no answer within {:?}", self.deadline)?
                }
                _ => write!(f, "{separator}{address}: {error}")?,
            }
        }
        Ok(())
    }
}

impl Error for ConnectError {}

impl From<ConnectError> for io::Error {
    fn from(error: ConnectError) -> Self {
        Self::new(error.kind(), error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(attempts: &[(&str, io::ErrorKind)]) -> ConnectError {
        let attempt = |(address, kind): &(&str, io::ErrorKind)| Attempt {
            address: Address::resolve(address).expect("an address").remove(0),
            error: (*kind).into(),
        };
        ConnectError { attempts: attempts.iter().map(attempt).collect(), deadline: Duration::from_secs(2) }
    }

    #[test]
    fn it_names_every_address_and_what_became_of_it() {
        let one = error(&[("127.0.0.1:1", io::ErrorKind::ConnectionRefused)]);
        assert_eq!(one.to_string(), "cannot connect to 127.0.0.1:1: connection refused");
        let two = error(&[("[::1]:1", io::ErrorKind::TimedOut), ("unix:/none", io::ErrorKind::NotFound)]);
        let text = "cannot connect to any of 2 addresses: [::1]:1: no answer within 2s; unix:/none: entity not found";
        assert_eq!(two.to_string(), text);
        assert_eq!(error(&[]).to_string(), "cannot connect: no address was given");
    }

    #[test]
    fn its_kind_is_that_of_an_answer_if_there_was_one() {
        use io::ErrorKind::{ConnectionRefused, InvalidInput, TimedOut};
        assert_eq!(error(&[("[::1]:1", ConnectionRefused), ("[::1]:2", TimedOut)]).kind(), ConnectionRefused);
        assert_eq!(error(&[("[::1]:1", TimedOut)]).kind(), TimedOut);
        assert_eq!(error(&[]).kind(), InvalidInput);
    }
}
