//! What the contenders are loaded with, and the upstreams behind them. All of it stays off their core.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::contenders::free_address;

/// A load, by what one unit of it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Traffic {
    /// `redis-benchmark`, half SET and half GET, with so many requests in a pipeline.
    Redis {
        /// Requests in a pipeline.
        pipelining: u32,
        /// Requests in a slice.
        requests: u32,
    },
    /// Streams from the upstream to the clients.
    Streams {
        /// Bytes in a slice, all connections together.
        bytes: u64,
    },
    /// Messages of 512 bytes, one at a time on each connection, sent back by the upstream.
    Messages {
        /// Messages in a slice.
        count: u32,
    },
}

/// Clients of `redis-benchmark`.
const CLIENTS: u32 = 50;

/// Connections of a stream slice, and of a message slice.
const STREAMS: u64 = 4;
const ECHOES: u32 = 16;

const MESSAGE: usize = 512;

impl Traffic {
    /// What the tables call it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Redis { pipelining, .. } => format!("redis-benchmark -P {pipelining}"),
            Self::Streams { .. } => "large streams".into(),
            Self::Messages { .. } => "512-byte messages".into(),
        }
    }

    /// The unit that CPU time is counted for.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Redis { .. } => "request",
            Self::Streams { .. } => "MB",
            Self::Messages { .. } => "message",
        }
    }

    /// How many units a slice has.
    pub(crate) fn units(self) -> f64 {
        match self {
            Self::Redis { requests, .. } => f64::from(requests),
            Self::Streams { bytes } => bytes as f64 / 1e6,
            Self::Messages { count } => f64::from(count),
        }
    }

    /// Runs one slice.
    pub(crate) fn run(self, address: SocketAddr) -> io::Result<()> {
        match self {
            Self::Redis { pipelining, requests } => benchmark(address, pipelining, requests / 2),
            Self::Streams { bytes } => at_once(STREAMS as u32, || download(address, bytes / STREAMS)),
            Self::Messages { count } => at_once(ECHOES, || talk(address, count / ECHOES)),
        }
    }
}

fn benchmark(address: SocketAddr, pipelining: u32, requests: u32) -> io::Result<()> {
    let [port, requests, clients, pipelining] =
        [address.port().into(), requests, CLIENTS, pipelining].map(|number: u32| number.to_string());
    let arguments = [
        "-t", "set,get", "-r", "10000", "-d", "64", "-q", "-p", &port, "-n", &requests, "-c", &clients, "-P",
    ];
    let output = Command::new("redis-benchmark").args(arguments).arg(pipelining).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && said.contains("SET: ") && said.contains("GET: ") {
        return Ok(());
    }
    Err(io::Error::other(format!("redis-benchmark: {said} {}", String::from_utf8_lossy(&output.stderr))))
}

/// The same on so many threads.
fn at_once(threads: u32, run: impl Fn() -> io::Result<()> + Sync) -> io::Result<()> {
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&run)).collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| io::Error::other("a client panicked"))?)
    })
}

fn download(address: SocketAddr, bytes: u64) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(&bytes.to_be_bytes())?;
    let mut buffer = vec![0; 1 << 18];
    let mut left = bytes;
    while left > 0 {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => left -= count as u64,
        }
    }
    Ok(())
}

fn talk(address: SocketAddr, count: u32) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut message = [7; MESSAGE];
    for _ in 0..count {
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
    }
    Ok(())
}

/// What is behind the contenders. It ends with this process, or when it is dropped.
pub(crate) enum Upstream {
    /// A Redis of our own.
    Redis(Child, SocketAddr),
    /// A thread that sends or sends back.
    Thread(SocketAddr),
}

impl Upstream {
    /// Starts the one that the traffic needs, on this core if it is a process.
    pub(crate) fn start(traffic: Traffic, core: usize) -> io::Result<Self> {
        match traffic {
            Traffic::Redis { .. } => redis(core),
            Traffic::Streams { .. } => serve(source),
            Traffic::Messages { .. } => serve(echo),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Redis(_, address) | Self::Thread(address) => *address,
        }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        if let Self::Redis(child, _) = self {
            // Whatever state it is in, it is to end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn redis(core: usize) -> io::Result<Upstream> {
    let address = free_address()?;
    let port = address.port().to_string();
    let child = Command::new("taskset")
        .args(["-c", &core.to_string(), "redis-server", "--bind", "127.0.0.1", "--port", &port])
        .args(["--save", "", "--appendonly", "no"])
        .stdout(Stdio::null())
        .spawn()?;
    let upstream = Upstream::Redis(child, address);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(address).is_err() {
        if Instant::now() > deadline {
            return Err(io::Error::other("redis-server did not start"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(upstream)
}

fn serve(run: fn(TcpStream) -> io::Result<()>) -> io::Result<Upstream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that leaves early is not the upstream's business.
            thread::spawn(move || run(stream));
        }
    });
    Ok(Upstream::Thread(address))
}

fn source(mut stream: TcpStream) -> io::Result<()> {
    let mut wanted = [0; 8];
    stream.read_exact(&mut wanted)?;
    let block = vec![7; 1 << 18];
    let mut left = u64::from_be_bytes(wanted);
    while left > 0 {
        let count = left.min(block.len() as u64);
        stream.write_all(&block[..count as usize])?;
        left -= count;
    }
    Ok(())
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; MESSAGE];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..count])?;
    }
}
