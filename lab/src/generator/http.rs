//! HTTP/1.1 as far as the clients need it: one GET, and replies that must all
//! have the body of the first one.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use httparse::{EMPTY_HEADER, Response, Status};

use super::fault::Fault;

/// The request for a path.
pub(super) fn request(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes()
}

/// How far the replies of one connection have come.
#[derive(Debug, Default)]
pub(super) struct HttpReading {
    /// The beginning of a head that is not complete.
    head: Vec<u8>,
    /// How much of the body has come, when the head is complete.
    body: Option<usize>,
}

impl HttpReading {
    pub(super) fn begin(&mut self) {
        self.head.clear();
        self.body = None;
    }

    /// Checks what has been received; returns how many replies that completes.
    pub(super) fn receive(&mut self, chunk: &[u8], expected: &[u8]) -> Result<usize, Fault> {
        let (mut rest, mut complete) = (chunk, 0);
        while !rest.is_empty() {
            let Some(received) = self.body else {
                rest = self.receive_head(rest, expected.len())?;
                complete += usize::from(self.end_body(expected.len()));
                continue;
            };
            let (now, later) = rest.split_at(rest.len().min(expected.len() - received));
            if *now != expected[received..received + now.len()] {
                return Err(Fault::WrongBytes);
            }
            self.body = Some(received + now.len());
            complete += usize::from(self.end_body(expected.len()));
            rest = later;
        }
        Ok(complete)
    }

    /// Takes the head, or what there is of it; returns what follows.
    fn receive_head<'a>(&mut self, chunk: &'a [u8], body_bytes: usize) -> Result<&'a [u8], Fault> {
        let before = self.head.len();
        let parsed = if before == 0 {
            head(chunk)
        } else {
            self.head.extend_from_slice(chunk);
            head(&self.head)
        };
        match parsed {
            Ok(Some(head)) if head.body_bytes == body_bytes => {
                self.head.clear();
                self.body = Some(0);
                Ok(&chunk[head.bytes - before..])
            }
            Ok(None) if before + chunk.len() <= HEAD_BYTES_MAX => {
                if before == 0 {
                    self.head.extend_from_slice(chunk);
                }
                Ok(&[])
            }
            _ => Err(Fault::WrongBytes),
        }
    }

    /// Whether the body is complete; then the next reply begins.
    fn end_body(&mut self, body_bytes: usize) -> bool {
        let ends = self.body == Some(body_bytes);
        if ends {
            self.body = None;
        }
        ends
    }
}

/// Asks once, on a connection of its own; returns the body.
pub(super) fn ask(address: SocketAddr, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
    let mut text = Vec::new();
    let head = loop {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::Error::other("the server closed the connection instead of answering")),
            Ok(received) => text.extend_from_slice(&chunk[..received]),
            // By a ring of this thread that was dropped shortly before.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if let Some(head) = head(&text).map_err(io::Error::other)? {
            break head;
        }
    };
    let mut body = text.split_off(head.bytes);
    let missing = head.body_bytes.saturating_sub(body.len());
    stream.take(missing as u64).read_to_end(&mut body)?;
    if body.len() == head.body_bytes {
        Ok(body)
    } else {
        Err(io::Error::other("the server sent a body of another length than it had said"))
    }
}

struct Head {
    bytes: usize,
    body_bytes: usize,
}

/// A head that begins there, if it is complete, and one that we can go on with.
fn head(text: &[u8]) -> Result<Option<Head>, String> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut response = Response::new(&mut headers);
    let bytes = match response.parse(text) {
        Ok(Status::Complete(bytes)) => bytes,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("the server's reply is no HTTP: {error}")),
    };
    match response.code {
        Some(200) => {}
        Some(code) => return Err(format!("the server answered with status {code}")),
        None => return Err("the server's reply has no status".to_owned()),
    }
    let length = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|header| std::str::from_utf8(header.value).ok()?.trim().parse().ok());
    match length {
        Some(body_bytes) => Ok(Some(Head { bytes, body_bytes })),
        None => Err("the server's reply has no Content-Length".to_owned()),
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
const HEADERS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";

    #[test]
    fn a_reply_may_be_cut_anywhere() {
        let two = [REPLY, REPLY].concat();
        for cut in 1..two.len() {
            let mut reading = HttpReading::default();
            let (first, second) = two.split_at(cut);
            let complete = [first, second].map(|part| reading.receive(part, b"abc").unwrap());
            assert_eq!(complete.iter().sum::<usize>(), 2, "cut at {cut}");
        }
    }

    #[test]
    fn another_body_status_or_length_is_wrong() {
        for wrong in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabd"[..],
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd",
            b"hello\r\n\r\n",
        ] {
            assert_eq!(HttpReading::default().receive(wrong, b"abc"), Err(Fault::WrongBytes));
        }
    }

    #[test]
    fn a_reply_without_a_body_is_complete_with_its_head() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(HttpReading::default().receive(&[&reply[..], reply].concat(), b""), Ok(2));
    }
}
