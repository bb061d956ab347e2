//! The other end of every connection: a plain blocking `std` socket on another thread.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_channel::Sender;
use corepool_os::StreamSocket;
use socket2::{Domain, SockRef, Socket, Type};

use crate::pattern::Pattern;

/// Any free port of this machine's loopback.
pub(crate) const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// More than the kernel keeps, in bytes, of what is sent to an end that has read little or nothing so far.
pub(crate) const TOO_MUCH: usize = 32 << 20;

/// A peer that waits longer than this for a byte has failed, and says where.
const PATIENCE: Duration = Duration::from_secs(30);

/// From one byte to the next of a client that sends little by little.
const SLOW: Duration = Duration::from_millis(20);

/// Up to here a message and its echo fit into the buffers of a socket, whoever reads first.
const FITS: usize = 16 * 1024;

/// A connection: our end, for a runtime to take, and the peer's.
pub(crate) fn pair() -> (StreamSocket, Peer) {
    let (ours, theirs) = streams();
    (ours.into(), theirs.into())
}

/// A connection that holds a few KiB when the peer does not read.
pub(crate) fn narrow_pair() -> (StreamSocket, Peer) {
    let (ours, theirs) = streams();
    for stream in [&ours, &theirs] {
        SockRef::from(stream).set_send_buffer_size(4096).unwrap();
        SockRef::from(stream).set_recv_buffer_size(4096).unwrap();
    }
    (ours.into(), theirs.into())
}

/// Both ends of a connection, ours first; blocking.
pub(crate) fn streams() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, from) = listener.accept().unwrap();
    assert_eq!(from, theirs.local_addr().unwrap(), "a foreign process has connected");
    ours.set_nodelay(true).unwrap();
    (ours, theirs)
}

/// A listener whose queue is full, so that the kernel answers nobody who connects to it.
#[derive(Debug)]
pub(crate) struct BlackHole {
    listener: Socket,
    /// Fills the queue.
    waiting: TcpStream,
}

impl BlackHole {
    pub(crate) fn new() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&LOOPBACK.into()).unwrap();
        listener.listen(0).unwrap(); // room for one
        let waiting = TcpStream::connect(listener.local_addr().unwrap().as_socket().unwrap()).unwrap();
        Self { listener, waiting }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.waiting.peer_addr().unwrap()
    }

    /// Answers from now on.
    pub(crate) fn open(self) -> TcpListener {
        self.listener.listen(128).unwrap();
        self.listener.accept().unwrap();
        self.listener.into()
    }
}

/// An address on which nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    TcpListener::bind(LOOPBACK).unwrap().local_addr().unwrap()
}

/// One end of a connection, which sends one stream of known bytes and expects another.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: TcpStream,
    sent: Pattern,
    received: Pattern,
}

impl From<TcpStream> for Peer {
    fn from(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, sent: Pattern::default(), received: Pattern::default() }
    }
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        TcpStream::connect(address).unwrap().into()
    }

    /// The end of a Unix connection. It is held as a TCP stream, whose reads and writes are those of any socket.
    pub(crate) fn from_unix(stream: UnixStream) -> Self {
        let stream = TcpStream::from(OwnedFd::from(stream));
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, sent: Pattern::default(), received: Pattern::default() }
    }

    /// Goes on with a connection that somebody else has used before.
    pub(crate) fn resume(stream: TcpStream, sent: Pattern, received: Pattern) -> Self {
        Self { sent, received, ..Self::from(stream) }
    }

    /// Connects with buffers that hold a few KiB when nobody reads.
    pub(crate) fn connect_narrow(address: SocketAddr) -> Self {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_send_buffer_size(4096).unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(&address.into()).unwrap();
        TcpStream::from(socket).into()
    }

    /// Lives on another thread.
    pub(crate) fn spawn<T: Send + 'static>(self, life: impl FnOnce(Self) -> T + Send + 'static) -> Life<T> {
        start(move || life(self))
    }

    /// Lives on another thread, once it is told to go.
    pub(crate) fn spawn_on_signal<T: Send + 'static>(
        self,
        life: impl FnOnce(Self) -> T + Send + 'static,
    ) -> (Sender<()>, Life<T>) {
        let (go, gone) = async_channel::bounded(1);
        let life = start(move || {
            gone.recv_blocking().expect("never told to go");
            life(self)
        });
        (go, life)
    }

    /// Sends the next `count` bytes of its stream.
    pub(crate) fn send(&mut self, count: usize) {
        send(&self.stream, &mut self.sent, count).unwrap();
    }

    /// Sends until nothing has been taken for as long as `patience`, or `most` bytes have; gives how many.
    pub(crate) fn send_until_stuck(&mut self, most: usize, patience: Duration) -> usize {
        self.stream.set_write_timeout(Some(patience)).unwrap();
        let mut taken = 0;
        while taken < most {
            match self.stream.write(self.sent.peek(most - taken)) {
                Ok(count) => {
                    self.sent.skip(count);
                    taken += count;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("cannot send: {error}"),
            }
        }
        self.stream.set_write_timeout(Some(PATIENCE)).unwrap();
        taken
    }

    /// Sends, and reads nothing, until the connection is over.
    pub(crate) fn send_until_over(mut self) {
        while let Ok(count) = self.stream.write(self.sent.peek(1 << 20)) {
            self.sent.skip(count);
        }
    }

    /// Sends one byte and receives an answer of known length, outside of the streams.
    pub(crate) fn ask<const LENGTH: usize>(&mut self, question: u8) -> [u8; LENGTH] {
        self.stream.write_all(&[question]).unwrap();
        let mut answer = [0; LENGTH];
        self.stream.read_exact(&mut answer).unwrap();
        answer
    }

    /// Receives exactly the next `count` bytes of the stream that it is sent.
    pub(crate) fn expect(&mut self, count: usize) {
        expect(&self.stream, &mut self.received, count);
    }

    /// Sends `count` bytes and receives as many; at the same time where the buffers are too small for that.
    pub(crate) fn exchange(&mut self, count: usize) {
        if count <= FITS {
            self.send(count);
            return self.expect(count);
        }
        let Self { stream, sent, received } = self;
        thread::scope(|scope| {
            scope.spawn(|| send(stream, sent, count).unwrap());
            expect(stream, received, count);
        });
    }

    /// Sends until `enough` says so, then no more; receives until the end, which must come after as many bytes.
    pub(crate) fn exchange_until(&mut self, enough: impl Fn() -> bool + Sync) {
        let Self { stream, sent, received } = self;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !enough() {
                    let count = fastrand::usize(1..=64 * 1024);
                    send(stream, sent, count).unwrap();
                }
                stream.shutdown(Shutdown::Write).unwrap();
            });
            while receive(stream, received).unwrap() {}
        });
        assert_eq!(self.received.position(), self.sent.position(), "the end came too soon");
    }

    /// Sends no more.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// Receives what is left of the stream and its orderly end; gives how many bytes it has had in all.
    pub(crate) fn expect_end(&mut self) -> u64 {
        while receive(&self.stream, &mut self.received).unwrap() {}
        self.received.position()
    }

    /// Is slow, sends one byte, and receives its echo; `false` when the connection is over.
    pub(crate) fn drips(&mut self) -> bool {
        thread::sleep(SLOW);
        let sent = send(&self.stream, &mut self.sent, 1);
        sent.is_ok() && receive(&self.stream, &mut self.received).is_ok_and(|more| more)
    }

    /// Receives up to `count` bytes, says that nothing more will come, and receives the orderly end; gives how
    /// many bytes there were.
    pub(crate) fn expect_end_after(&mut self, count: u64) -> u64 {
        while self.received.position() < count && receive(&self.stream, &mut self.received).unwrap() {}
        // A server that has told the end may have closed by now.
        let _ = self.stream.shutdown(Shutdown::Write);
        self.expect_end()
    }

    /// Receives exactly the next `count` bytes, and sends a little after each receive.
    pub(crate) fn expect_answering(&mut self, count: usize) {
        let end = self.received.position() + count as u64;
        while self.received.position() < end {
            assert!(receive(&self.stream, &mut self.received).unwrap(), "the stream has ended too soon");
            self.send(100);
        }
        assert_eq!(self.received.position(), end, "more was received than was announced");
    }

    /// Receives whatever comes until the connection is over, by an end or by a reset.
    pub(crate) fn expect_over(&mut self) {
        let mut space = vec![0; 256 * 1024];
        loop {
            match self.stream.read(&mut space) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
                Err(error) => panic!("the connection is not over: {error}"),
            }
        }
    }

    /// Receives whatever comes, to an orderly end.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        rest
    }

    /// Waits until there is something to receive, and leaves it.
    pub(crate) fn wait(&self) {
        assert_ne!(self.stream.peek(&mut [0]).unwrap(), 0, "the stream has ended");
    }

    /// Closes by a reset instead of an orderly end.
    pub(crate) fn reset(self) {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}

/// A peer that sends little by little, on demand, so that receives wait as often as not.
#[derive(Debug)]
pub(crate) struct Trickle {
    demand: Sender<usize>,
    demanded: u64,
    life: Life<()>,
}

impl Trickle {
    /// Bytes that may be on their way.
    const AHEAD: u64 = 256 * 1024;

    pub(crate) fn start(peer: Peer) -> Self {
        let (demand, demands) = async_channel::unbounded();
        let life = peer.spawn(move |mut peer| {
            while let Ok(count) = demands.recv_blocking() {
                peer.send(count);
            }
            peer.half_close();
            peer.expect_end();
        });
        Self { demand, demanded: 0, life }
    }

    /// Demands some more bytes, if not too many are on their way to who has `received` so many.
    pub(crate) fn demand(&mut self, received: u64) {
        if self.demanded < received + Self::AHEAD {
            let count = fastrand::usize(1..=4096);
            self.demanded += count as u64;
            self.demand.try_send(count).unwrap();
        }
    }

    /// Ends the stream. Who receives it must have this many bytes then.
    pub(crate) fn end(self) -> (u64, Life<()>) {
        (self.demanded, self.life)
    }
}

/// A life on another thread.
#[derive(Debug)]
pub(crate) struct Life<T>(JoinHandle<T>);

/// Starts a life on another thread.
pub(crate) fn start<T: Send + 'static>(life: impl FnOnce() -> T + Send + 'static) -> Life<T> {
    Life(thread::Builder::new().name("peer".into()).spawn(life).unwrap())
}

impl<T> Life<T> {
    /// Waits for its end. Its panic is ours.
    pub(crate) fn join(self) -> T {
        self.0.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

fn send(mut stream: &TcpStream, sent: &mut Pattern, count: usize) -> io::Result<()> {
    let mut rest = count;
    while rest > 0 {
        let bytes = sent.next(rest);
        stream.write_all(bytes)?;
        rest -= bytes.len();
    }
    Ok(())
}

fn expect(mut stream: &TcpStream, received: &mut Pattern, count: usize) {
    let mut buffer = vec![0; count.min(256 * 1024)];
    let mut rest = count;
    while rest > 0 {
        let most = rest.min(buffer.len());
        let some = stream.read(&mut buffer[..most]).unwrap();
        assert_ne!(some, 0, "the stream has ended {rest} bytes too soon");
        received.check(&buffer[..some]);
        rest -= some;
    }
}

/// Receives some bytes; `false` at the end of the stream.
fn receive(mut stream: &TcpStream, received: &mut Pattern) -> io::Result<bool> {
    let mut buffer = [0; 32 * 1024];
    let some = stream.read(&mut buffer)?;
    received.check(&buffer[..some]);
    Ok(some > 0)
}
