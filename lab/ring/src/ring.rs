//! The loop's side of a ring: what can be asked for, and what comes back.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::slice;
use std::time::Duration;

use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use slab::Slab;

use crate::provided::{GROUP, Provided};
use crate::socket::{Chunk, Outgoing, Socket};
use crate::{BUFFER_BYTES, Receive};

/// Names a connection until it is closed.
pub type Key = usize;

/// What has happened to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whoever drives the ring must know every kind")]
pub enum Event {
    /// It is new.
    Accepted(Key),
    /// [`Ring::chunk`] has bytes.
    Received(Key),
    /// All bytes have been sent.
    Sent(Key),
    /// The pause is over.
    Paused(Key),
    /// Nothing more will be received, or something could not be sent.
    Ended(Key),
}

/// A ring with a listener and its connections.
///
/// For each connection one thing at a time is asked for: [`receive`](Self::receive), one of the sends, or
/// [`pause`](Self::pause); the event that answers it comes before the next.
pub struct Ring {
    ring: IoUring,
    listener: TcpListener,
    sockets: Slab<Socket>,
    provided: Option<Provided>,
    ready: VecDeque<Event>,
    completions: Vec<(u64, i32, u32)>,
}

impl Ring {
    /// A ring that accepts from this listener, which must block. It is used by this thread only.
    ///
    /// # Errors
    /// When the kernel refuses the ring, or its buffers.
    pub fn new(listener: TcpListener, receive: Receive) -> io::Result<Self> {
        let ring = IoUring::builder()
            .setup_clamp()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(4 * ENTRIES)
            .build(ENTRIES)?;
        let provided = (receive == Receive::Multishot).then(|| Provided::register(&ring)).transpose()?;
        let (sockets, ready, completions) = (Slab::new(), VecDeque::new(), Vec::new());
        let mut ring = Self { ring, listener, sockets, provided, ready, completions };
        ring.accept()?;
        Ok(ring)
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// When the ring fails, or no connection can be accepted any more.
    pub fn next_event(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            let mut completions = mem::take(&mut self.completions);
            let known = |entry: cqueue::Entry| (entry.user_data(), entry.result(), entry.flags());
            completions.extend(self.ring.completion().map(known));
            for (data, result, flags) in completions.drain(..) {
                self.complete(data, result, flags)?;
            }
            self.completions = completions;
        }
    }

    /// The bytes of the last [`Event::Received`], until the next receive.
    #[must_use]
    pub fn chunk(&self, key: Key) -> &[u8] {
        let Some((socket, chunk)) = self.sockets.get(key).and_then(|socket| Some((socket, socket.current?)))
        else {
            return &[];
        };
        match (chunk.shared, &self.provided) {
            (Some(id), Some(provided)) => {
                // SAFETY: the kernel has filled so many bytes and has not been given the buffer again.
                unsafe { slice::from_raw_parts(provided.buffer(id).as_ptr(), chunk.bytes) }
            }
            _ => &socket.buffer[..chunk.bytes],
        }
    }

    /// Asks for the next chunk, and gives the last one up.
    ///
    /// # Errors
    /// When the ring fails.
    pub fn receive(&mut self, key: Key) -> io::Result<()> {
        self.release(key);
        self.sockets[key].state.wanted = true;
        self.deliver(key)
    }

    /// Sends the current chunk back.
    ///
    /// # Errors
    /// When the ring fails.
    pub fn send_chunk(&mut self, key: Key) -> io::Result<()> {
        self.begin_send(key, Outgoing::Chunk)
    }

    /// Sends bytes that live for ever.
    ///
    /// # Errors
    /// When the ring fails.
    pub fn send(&mut self, key: Key, bytes: &'static [u8]) -> io::Result<()> {
        self.begin_send(key, Outgoing::Static(bytes))
    }

    /// Does nothing for so long.
    ///
    /// # Errors
    /// When the ring fails.
    pub fn pause(&mut self, key: Key, time: Duration) -> io::Result<()> {
        let socket = &mut self.sockets[key];
        *socket.pause = Timespec::from(time);
        socket.flights += 1;
        let operation = opcode::Timeout::new(&raw const *socket.pause).build();
        self.push(operation, key, PAUSE)
    }

    /// Closes the connection once the kernel is done with it.
    pub fn close(&mut self, key: Key) {
        let socket = &mut self.sockets[key];
        socket.state.closing = true;
        if socket.flights > 0 {
            // It ends what is in flight; if it fails, the peer has done that already.
            let _ = socket.stream.shutdown(Shutdown::Both);
        }
        self.forget_if_done(key);
    }

    fn accept(&mut self) -> io::Result<()> {
        let operation = opcode::AcceptMulti::new(Fd(self.listener.as_raw_fd())).flags(CLOSE_ON_EXEC);
        self.push(operation.build(), 0, ACCEPT)
    }

    fn begin_send(&mut self, key: Key, outgoing: Outgoing) -> io::Result<()> {
        let socket = &mut self.sockets[key];
        (socket.outgoing, socket.sent) = (outgoing, 0);
        self.send_rest(key)
    }

    fn send_rest(&mut self, key: Key) -> io::Result<()> {
        let socket = &self.sockets[key];
        let bytes = match socket.outgoing {
            Outgoing::Chunk => self.chunk(key),
            Outgoing::Static(bytes) => bytes,
        };
        let rest = &bytes[socket.sent..];
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let operation = opcode::Send::new(Fd(socket.stream.as_raw_fd()), rest.as_ptr(), length).build();
        self.sockets[key].flights += 1;
        self.push(operation, key, SEND)
    }

    /// Hands out what has arrived, or sees to it that something can arrive.
    fn deliver(&mut self, key: Key) -> io::Result<()> {
        let socket = &mut self.sockets[key];
        if !socket.state.wanted || socket.state.closing {
            return Ok(());
        }
        if let Some(chunk) = socket.arrived.pop_front() {
            socket.current = Some(chunk);
            socket.state.wanted = false;
            self.ready.push_back(Event::Received(key));
        } else if socket.state.ended {
            socket.state.wanted = false;
            self.ready.push_back(Event::Ended(key));
        } else if !socket.state.receiving {
            self.begin_receive(key)?;
        }
        Ok(())
    }

    fn begin_receive(&mut self, key: Key) -> io::Result<()> {
        let socket = &mut self.sockets[key];
        let descriptor = Fd(socket.stream.as_raw_fd());
        socket.state.receiving = true;
        socket.flights += 1;
        let operation = if self.provided.is_some() && !mem::take(&mut socket.state.starved) {
            opcode::RecvMulti::new(descriptor, GROUP).build()
        } else {
            socket.buffer.resize(BUFFER_BYTES, 0);
            opcode::Recv::new(descriptor, socket.buffer.as_mut_ptr(), BUFFER_BYTES as u32).build()
        };
        self.push(operation, key, RECEIVE)
    }

    /// Queues an operation whose memory is the socket's, the provided buffers' or static.
    fn push(&mut self, operation: squeue::Entry, key: Key, kind: u64) -> io::Result<()> {
        let operation = operation.user_data((key as u64) << KIND_BITS | kind);
        loop {
            let mut queue = self.ring.submission();
            // SAFETY: the memory of every operation belongs to `self`, stays where it is, and is kept until
            // the operation has completed, for ever if it does not.
            let pushed = unsafe { queue.push(&operation) };
            drop(queue);
            match pushed {
                Ok(()) => return Ok(()),
                Err(_full) => drop(self.ring.submit()?),
            }
        }
    }

    fn complete(&mut self, data: u64, result: i32, flags: u32) -> io::Result<()> {
        let (kind, key) = (data & ((1 << KIND_BITS) - 1), (data >> KIND_BITS) as Key);
        if kind == ACCEPT {
            return self.accepted(result, flags);
        }
        if !cqueue::more(flags) {
            self.sockets[key].flights -= 1;
        }
        match kind {
            RECEIVE => self.received(key, result, flags)?,
            SEND => self.sent(key, result)?,
            _ => self.tell(Event::Paused(key), key),
        }
        self.forget_if_done(key);
        Ok(())
    }

    fn accepted(&mut self, result: i32, flags: u32) -> io::Result<()> {
        if !cqueue::more(flags) {
            self.accept()?;
        }
        if result < 0 {
            return match io::Error::from_raw_os_error(-result) {
                error if error.kind() == io::ErrorKind::ConnectionAborted => Ok(()),
                error => Err(error),
            };
        }
        // SAFETY: the kernel has just made this descriptor for us, and nobody else knows of it.
        let stream = unsafe { TcpStream::from_raw_fd(result) };
        // Where it fails the connection is gone, which a receive will tell.
        let _ = stream.set_nodelay(true);
        let key = self.sockets.insert(Socket::new(stream));
        self.ready.push_back(Event::Accepted(key));
        Ok(())
    }

    fn received(&mut self, key: Key, result: i32, flags: u32) -> io::Result<()> {
        let state = &mut self.sockets[key].state;
        state.receiving = cqueue::more(flags);
        match usize::try_from(result) {
            Ok(bytes @ 1..) => {
                let chunk = Chunk { shared: cqueue::buffer_select(flags), bytes };
                self.sockets[key].arrived.push_back(chunk);
            }
            Err(_) if result == -NO_BUFFERS => state.starved = true,
            _ => state.ended = true,
        }
        self.deliver(key)
    }

    fn sent(&mut self, key: Key, result: i32) -> io::Result<()> {
        let whole = match self.sockets[key].outgoing {
            Outgoing::Chunk => self.chunk(key).len(),
            Outgoing::Static(bytes) => bytes.len(),
        };
        let socket = &mut self.sockets[key];
        match usize::try_from(result) {
            Ok(sent) => socket.sent += sent,
            Err(_) => {
                self.tell(Event::Ended(key), key);
                return Ok(());
            }
        }
        if socket.sent < whole && !socket.state.closing {
            return self.send_rest(key);
        }
        self.tell(Event::Sent(key), key);
        Ok(())
    }

    fn tell(&mut self, event: Event, key: Key) {
        if !self.sockets[key].state.closing {
            self.ready.push_back(event);
        }
    }

    fn release(&mut self, key: Key) {
        let chunk = self.sockets[key].current.take();
        if let (Some(Chunk { shared: Some(id), .. }), Some(provided)) = (chunk, &mut self.provided) {
            provided.give(id);
        }
    }

    fn forget_if_done(&mut self, key: Key) {
        let socket = &self.sockets[key];
        if !socket.state.closing || socket.flights > 0 {
            return;
        }
        self.release(key);
        let socket = self.sockets.remove(key);
        if let Some(provided) = &mut self.provided {
            socket.arrived.iter().filter_map(|chunk| chunk.shared).for_each(|id| provided.give(id));
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel may go on with what is in flight for a moment, even without the ring. A ring is dropped
        // only when its process is about to end, so the memory is not missed.
        mem::forget(mem::take(&mut self.sockets));
        mem::forget(self.provided.take());
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("sockets", &self.sockets.len()).finish_non_exhaustive()
    }
}

/// Room for a turn of the loop with so many ready connections.
const ENTRIES: u32 = 1024;
const KIND_BITS: u32 = 2;
const ACCEPT: u64 = 0;
const RECEIVE: u64 = 1;
const SEND: u64 = 2;
const PAUSE: u64 = 3;
/// ENOBUFS
const NO_BUFFERS: i32 = 105;
/// SOCK_CLOEXEC
const CLOSE_ON_EXEC: i32 = 0o2_000_000;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::*;

    /// Echoes until a client has said `end` and all others have been forgotten.
    fn echo(receive: Receive, client: impl FnOnce(std::net::SocketAddr) + Send + 'static) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = thread::spawn(move || {
            client(address);
            TcpStream::connect(address).unwrap().write_all(b"end").unwrap();
        });
        let mut ring = Ring::new(listener, receive).unwrap();
        let mut ending = false;
        while !ending || ring.sockets.len() > 1 {
            match ring.next_event().unwrap() {
                Event::Received(key) if ring.chunk(key) == b"end" => ending = true,
                Event::Received(key) => ring.send_chunk(key).unwrap(),
                Event::Accepted(key) | Event::Paused(key) => ring.receive(key).unwrap(),
                Event::Sent(key) => ring.pause(key, Duration::from_micros(1)).unwrap(),
                Event::Ended(key) => ring.close(key),
            }
        }
        client.join().unwrap();
    }

    fn exchange(address: std::net::SocketAddr, message: &[u8]) {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut writer = stream.try_clone().unwrap();
        let sent = message.to_vec();
        let writer = thread::spawn(move || writer.write_all(&sent).unwrap());
        let mut reply = vec![0; message.len()];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply, message);
        writer.join().unwrap();
    }

    #[test]
    fn messages_of_any_size_come_back_and_connections_are_forgotten() {
        for receive in [Receive::SingleShot, Receive::Multishot] {
            echo(receive, |address| {
                for bytes in [1, 512, BUFFER_BYTES, 3 * 1024 * 1024 + 1] {
                    let message: Vec<_> = (0..bytes).map(|index| (index % 251) as u8).collect();
                    exchange(address, &message);
                }
            });
        }
    }

    #[test]
    fn more_connections_with_bytes_waiting_than_there_are_shared_buffers_lose_none() {
        echo(Receive::Multishot, |address| {
            let mut streams: Vec<_> = (0..400).map(|_| TcpStream::connect(address).unwrap()).collect();
            for round in 0..3_u8 {
                for stream in &mut streams {
                    stream.write_all(&[round; 100]).unwrap();
                }
                for stream in &mut streams {
                    let mut reply = [0; 100];
                    stream.read_exact(&mut reply).unwrap();
                    assert_eq!(reply, [round; 100]);
                }
            }
        });
    }
}
