//! A client that speaks RESP2 over a blocking socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing here takes a hundredth of it; it only keeps a lost reply from becoming a test without an end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Simple(String),
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Null,
    Array(Vec<Self>),
}

impl Value {
    pub(crate) fn is_error(&self, part: &str) -> bool {
        matches!(self, Self::Error(text) if text.contains(part))
    }
}

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn socket(&self) -> &TcpStream {
        self.stream.get_ref()
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Closes the connection, whoever else has a handle of it.
    pub(crate) fn leave(self) {
        // It may be closed already.
        let _ = self.socket().shutdown(Shutdown::Both);
    }

    /// Sends a request and gives its reply.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Value {
        self.send(&request(words)).unwrap();
        self.reply().unwrap()
    }

    pub(crate) fn reply(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let Some(text) = line.strip_suffix("\r\n") else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let (kind, rest) = text.split_at(1);
        Ok(match kind {
            "+" => Value::Simple(rest.to_owned()),
            "-" => Value::Error(rest.to_owned()),
            ":" => Value::Integer(rest.parse().unwrap()),
            "$" if rest == "-1" => Value::Null,
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.stream.read_exact(&mut bytes)?;
                assert_eq!(bytes.split_off(bytes.len() - 2), b"\r\n");
                Value::Bulk(bytes)
            }
            "*" => {
                let count = rest.parse::<usize>().unwrap();
                Value::Array((0..count).map(|_| self.reply()).collect::<io::Result<_>>()?)
            }
            _ => panic!("no reply: {text:?}"),
        })
    }

    /// Whether the other end has finished, and nothing more has come.
    pub(crate) fn is_at_end(&mut self) -> bool {
        match self.stream.fill_buf() {
            Ok(rest) => rest.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// A request as clients write it.
pub(crate) fn request(words: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| text += &format!("${}\r\n{word}\r\n", word.len()));
    text.into_bytes()
}
