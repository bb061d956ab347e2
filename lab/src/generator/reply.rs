//! What the replies must be, byte for byte, and how far one has come.

use std::io;
use std::net::SocketAddr;

use super::fault::Fault;
use super::http::{self, HttpReading};
use super::pattern::{Pattern, Place};
use crate::serve::session::BLOCK;

/// What all replies of a server must be.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// The requests.
    Echo { bytes: usize },
    /// The same block for every request.
    Transfer { bytes: usize },
    /// The same body for every request.
    Http { body: Vec<u8> },
}

/// How far the replies of one connection have come.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Where the echo is in what was sent.
    place: Place,
    /// How much has been sent and not yet echoed.
    echoable: usize,
    /// How much of the next reply has come.
    partial: usize,
    /// The byte that the next reply begins with.
    first: u8,
    http: HttpReading,
}

impl Reading {
    /// At the beginning of a connection whose requests begin there.
    pub(super) fn begin(&mut self, place: Place) {
        self.place = place;
        (self.echoable, self.partial) = (0, 0);
        self.http.begin();
    }

    /// So many bytes of requests have been sent.
    pub(super) const fn sent(&mut self, bytes: usize) {
        self.echoable += bytes;
    }

    /// The byte that the last echo began with.
    pub(super) const fn first(&self) -> u8 {
        self.first
    }

    /// Compares what has been received; returns how many replies that completes.
    pub(super) fn receive(
        &mut self,
        chunk: &[u8],
        expected: &Expected,
        pattern: &Pattern,
    ) -> Result<usize, Fault> {
        match expected {
            Expected::Echo { bytes } => {
                // Nothing can be echoed that has not been sent.
                if chunk.len() > self.echoable || chunk != pattern.at(self.place, chunk.len()) {
                    return Err(Fault::WrongBytes);
                }
                if self.partial == 0 {
                    self.first = chunk[0];
                }
                self.echoable -= chunk.len();
                self.place = pattern.after(self.place, chunk.len());
                Ok(self.complete(chunk.len(), *bytes))
            }
            Expected::Transfer { bytes } => self.receive_block(chunk, *bytes),
            Expected::Http { body } => self.http.receive(chunk, body),
        }
    }

    fn receive_block(&mut self, chunk: &[u8], bytes: usize) -> Result<usize, Fault> {
        let block: &'static [u8] = &BLOCK;
        let (mut rest, mut complete) = (chunk, 0);
        while !rest.is_empty() {
            let place = self.partial % block.len();
            let most = (block.len() - place).min(bytes - self.partial);
            let (now, later) = rest.split_at(rest.len().min(most));
            if *now != block[place..place + now.len()] {
                return Err(Fault::WrongBytes);
            }
            complete += self.complete(now.len(), bytes);
            rest = later;
        }
        Ok(complete)
    }

    /// Counts received bytes of replies of that size.
    const fn complete(&mut self, received: usize, bytes: usize) -> usize {
        let mut complete = 0;
        self.partial += received;
        while self.partial >= bytes {
            self.partial -= bytes;
            complete += 1;
        }
        complete
    }
}

impl Expected {
    /// What the server replies to HTTP requests, which is asked once.
    pub(super) fn http(address: SocketAddr, request: &[u8]) -> io::Result<Self> {
        let body = http::ask(address, request)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot ask {address}: {error}")))?;
        Ok(Self::Http { body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(bytes: usize) -> (Reading, Expected, Pattern) {
        let pattern = Pattern::random(bytes, 4, 3);
        let mut reading = Reading::default();
        reading.begin(5);
        reading.sent(4 * bytes);
        (reading, Expected::Echo { bytes }, pattern)
    }

    #[test]
    fn an_echo_may_be_cut_anywhere() {
        let (mut reading, expected, pattern) = reading(10);
        let mut receive = |place, bytes| reading.receive(pattern.at(place, bytes), &expected, &pattern);
        assert_eq!(receive(5, 9), Ok(0));
        assert_eq!(receive(14, 2), Ok(1));
        assert_eq!(receive(16, 29), Ok(3));
        assert_eq!(receive(45, 1), Err(Fault::WrongBytes));
    }

    #[test]
    fn a_wrong_byte_of_an_echo_or_a_block_is_found() {
        let (mut reading, expected, pattern) = reading(10);
        let mut wrong = pattern.at(5, 10).to_vec();
        wrong[9] ^= 1;
        assert_eq!(reading.receive(&wrong, &expected, &pattern), Err(Fault::WrongBytes));
        reading.begin(0);
        let expected = Expected::Transfer { bytes: BLOCK.len() + 10 };
        let reply = [&BLOCK[..], &BLOCK[..10], &BLOCK[..5]].concat();
        assert_eq!(reading.receive(&reply, &expected, &pattern), Ok(1));
        assert_eq!(reading.receive(&BLOCK[..5], &expected, &pattern), Err(Fault::WrongBytes));
    }
}
