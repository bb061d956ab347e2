//! An upstream that answers every request by what was asked, and misbehaves to order.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Reply,
    /// Replies after so long.
    Late(Duration),
    /// Replies in pieces of one byte.
    Bytewise,
    /// Replies, and sends another reply that nobody has asked for.
    Twice,
    /// Dies before it replies.
    Die,
    /// Dies after half of the reply.
    DieInside,
    /// Says nothing until the other end leaves.
    Stall,
    /// Sends what is no reply.
    Garbage,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl Fake {
    /// Listens on a free port; `act` decides by the words of each request.
    pub(crate) fn start(act: impl Fn(&[String]) -> Act + Send + Sync + 'static) -> Self {
        Self::start_on(TcpListener::bind("127.0.0.1:0").unwrap(), act)
    }

    pub(crate) fn start_on(
        listener: TcpListener,
        act: impl Fn(&[String]) -> Act + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (connections, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (opened, closed, act) = (Arc::clone(&connections), Arc::clone(&ended), Arc::new(act));
        // The thread ends with the test process; a listener costs nobody anything until then.
        thread::spawn(move || {
            for stream in listener.incoming() {
                opened.fetch_add(1, Ordering::SeqCst);
                let (act, closed) = (Arc::clone(&act), Arc::clone(&closed));
                thread::spawn(move || {
                    let _ = serve(stream.unwrap(), &*act);
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, connections, ended }
    }

    /// One that always replies.
    pub(crate) fn good() -> Self {
        Self::start(|_words| Act::Reply)
    }

    /// One that does what the key of a request says.
    pub(crate) fn by_key() -> Self {
        Self::start(|words| match words.get(1).map_or("", String::as_str) {
            key if key.starts_with("late") => Act::Late(Duration::from_millis(150)),
            key if key.starts_with("bytewise") => Act::Bytewise,
            key if key.starts_with("twice") => Act::Twice,
            key if key.starts_with("die-inside") => Act::DieInside,
            key if key.starts_with("die") => Act::Die,
            key if key.starts_with("stall") => Act::Stall,
            key if key.starts_with("garbage") => Act::Garbage,
            _ => Act::Reply,
        })
    }

    pub(crate) fn upstream(&self) -> String {
        self.address.to_string()
    }

    /// How many connections have been opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// How many have ended.
    pub(crate) fn ended(&self) -> usize {
        self.ended.load(Ordering::SeqCst)
    }
}

/// The reply to a request: its key, again and again, as long as a number at its end says: `key-1000` is 1000 bytes.
pub(crate) fn value(key: &str) -> Vec<u8> {
    let length = key.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(key.len());
    key.bytes().cycle().take(length).collect()
}

fn serve(stream: TcpStream, act: &(impl Fn(&[String]) -> Act + ?Sized)) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut output = Vec::new();
    loop {
        // Requests that have come together are answered together.
        if reader.buffer().is_empty() || output.len() > 64 << 10 {
            reader.get_mut().write_all(&output)?;
            output.clear();
        }
        let words = read(&mut reader)?;
        let value = value(words.get(1).map_or("", String::as_str));
        let reply = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
        let act = act(&words);
        if !matches!(act, Act::Reply | Act::Garbage) {
            reader.get_mut().write_all(&output)?;
            output.clear();
        }
        let stream = reader.get_mut();
        match act {
            Act::Reply => output.extend(reply),
            Act::Late(delay) => {
                thread::sleep(delay);
                stream.write_all(&reply)?;
            }
            Act::Bytewise => reply.chunks(1).try_for_each(|byte| stream.write_all(byte))?,
            Act::Twice => stream.write_all(&[&reply[..], b"+nobody asked\r\n"].concat())?,
            Act::Die => return Ok(()),
            Act::DieInside => return stream.write_all(&reply[..reply.len() / 2]),
            Act::Stall => return stream.read_to_end(&mut Vec::new()).map(|_| ()),
            Act::Garbage => {
                // In one piece with what came before.
                output.extend(b"HTTP/1.1 400 no\r\n");
                stream.write_all(&std::mem::take(&mut output))?;
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
    let count = loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // An empty line, or an empty array, is no request.
        if let Some(count @ 1..) = line.trim().strip_prefix('*').and_then(|count| count.parse::<i64>().ok()) {
            break count;
        }
    };
    (0..count)
        .map(|_| {
            let mut word = vec![0; number(reader)? + 2];
            reader.read_exact(&mut word)?;
            word.truncate(word.len() - 2);
            Ok(String::from_utf8_lossy(&word).into_owned())
        })
        .collect()
}

fn number(reader: &mut BufReader<TcpStream>) -> io::Result<usize> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    line.get(1..).and_then(|text| text.trim().parse().ok()).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
