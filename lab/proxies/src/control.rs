//! The control: a multiplexing Redis proxy by hand on tokio, one worker, with the same connections, the same parsers and
//! the same batching as `redis_proxy --mode shared`. What that costs more is what corepool costs.
//!
//! It has what every request needs and nothing else: no window, no limits on memory, no deadlines, no replacement of
//! an upstream that dies, no care for commands that bind.
//!
//! Its worker has a thread of its own, beside the main one, as in every server with a thread for each core. In a process
//! of one thread system calls are cheaper: the kernel need not count who uses a descriptor.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use redis_proxy::command::Commands;
use redis_proxy::resp::{Limits, Replies};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// The receive buffer, in bytes: as large as corepool's.
const BUFFER: usize = 20 * 1024;

/// Serves for ever.
pub(crate) fn run(listen: SocketAddr, upstream: SocketAddr, connections: usize) -> io::Result<()> {
    let worker = thread::Builder::new().spawn(move || work(listen, upstream, connections))?;
    worker.join().unwrap_or_else(|_panicked| Err(io::Error::other("the worker has panicked")))
}

fn work(listen: SocketAddr, upstream: SocketAddr, connections: usize) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build_local(Default::default())?;
    runtime.block_on(async {
        let mut links = Vec::new();
        for _ in 0..connections {
            let stream = TcpStream::connect(upstream).await?;
            stream.set_nodelay(true)?;
            let link = Rc::new(Link::default());
            links.push(Rc::clone(&link));
            tokio::task::spawn_local(async move { poll_fn(Driver::new(link, stream)).await });
        }
        let listener = TcpListener::bind(listen).await?;
        for link in links.iter().cycle() {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let link = Rc::clone(link);
            tokio::task::spawn_local(async move { poll_fn(Client::new(link, stream)).await });
        }
        Ok(())
    })
}

/// Bytes that wait to be sent by a task.
#[derive(Default)]
struct Outbox {
    bytes: Vec<u8>,
    waker: Option<Waker>,
}

impl Outbox {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

#[derive(Default)]
struct Link {
    outbox: RefCell<Outbox>,
    /// Who is owed replies, and how many in a row.
    flights: RefCell<VecDeque<(Rc<RefCell<Outbox>>, u32)>>,
}

/// What both kinds of task do: send what is in an outbox.
struct Sender {
    stream: TcpStream,
    sending: Vec<u8>,
    sent: usize,
}

impl Sender {
    fn new(stream: TcpStream) -> Self {
        Self { stream, sending: Vec::new(), sent: 0 }
    }

    fn poll(&mut self, outbox: &RefCell<Outbox>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.sent == self.sending.len() {
                self.sending.clear();
                self.sent = 0;
                let mut outbox = outbox.borrow_mut();
                if outbox.waker.as_ref().is_none_or(|known| !known.will_wake(cx.waker())) {
                    outbox.waker = Some(cx.waker().clone());
                }
                std::mem::swap(&mut outbox.bytes, &mut self.sending);
                if self.sending.is_empty() {
                    return Poll::Pending;
                }
            }
            match Pin::new(&mut self.stream).poll_write(cx, &self.sending[self.sent..])? {
                Poll::Ready(count) => self.sent += count,
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn receive(&mut self, buffer: &mut [u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(buffer);
        Pin::new(&mut self.stream).poll_read(cx, &mut space).map_ok(|()| space.filled().len())
    }
}

/// The task of a client, as a closure that is polled.
struct Client;

impl Client {
    #[expect(clippy::new_ret_no_self, reason = "it makes the task's future")]
    fn new(link: Rc<Link>, stream: TcpStream) -> impl FnMut(&mut Context<'_>) -> Poll<io::Result<()>> {
        let outbox = Rc::new(RefCell::new(Outbox::default()));
        let (mut sender, mut commands) = (Sender::new(stream), Commands::new(Limits::REQUESTS));
        let mut buffer = vec![0; BUFFER];
        move |cx| {
            if let Poll::Ready(failed) = sender.poll(&outbox, cx) {
                return Poll::Ready(failed);
            }
            while let Poll::Ready(count) = sender.receive(&mut buffer, cx)? {
                if count == 0 {
                    return Poll::Ready(Ok(()));
                }
                let (mut at, mut replies) = (0, 0);
                while commands.next(&buffer[..count], &mut at).map_err(io::Error::other)?.is_some() {
                    replies += 1;
                }
                link.flights.borrow_mut().push_back((Rc::clone(&outbox), replies));
                link.outbox.borrow_mut().put(&buffer[..count]);
            }
            Poll::Pending
        }
    }
}

/// The task of an upstream connection, as a closure that is polled.
struct Driver;

impl Driver {
    #[expect(clippy::new_ret_no_self, reason = "it makes the task's future")]
    fn new(link: Rc<Link>, stream: TcpStream) -> impl FnMut(&mut Context<'_>) -> Poll<io::Result<()>> {
        let (mut sender, mut replies) = (Sender::new(stream), Replies::new(Limits::REPLIES));
        let mut buffer = vec![0; BUFFER];
        move |cx| {
            if let Poll::Ready(failed) = sender.poll(&link.outbox, cx) {
                return Poll::Ready(failed);
            }
            while let Poll::Ready(count) = sender.receive(&mut buffer, cx)? {
                if count == 0 {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                deal_out(&link, &mut replies, &buffer[..count])?;
            }
            Poll::Pending
        }
    }
}

fn deal_out(link: &Link, replies: &mut Replies, chunk: &[u8]) -> io::Result<()> {
    let mut flights = link.flights.borrow_mut();
    let (mut start, mut at) = (0, 0);
    while let Some(reply) = replies.next(chunk, at).map_err(io::Error::other)? {
        at = reply.end;
        while flights.front().is_some_and(|(_, left)| *left == 0) {
            flights.pop_front();
        }
        let (client, left) = flights.front_mut().ok_or(io::ErrorKind::InvalidData)?;
        *left -= 1;
        if *left == 0 {
            client.borrow_mut().put(&chunk[start..at]);
            flights.pop_front();
            start = at;
        }
    }
    if let Some((client, _)) = flights.front().filter(|_| start < chunk.len()) {
        client.borrow_mut().put(&chunk[start..]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::contenders::free_address;

    /// Sends back what it receives: a request is a reply to itself.
    fn mirror() -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                thread::spawn(move || {
                    let mut buffer = [0; 1000];
                    while let Ok(count @ 1..) = stream.read(&mut buffer) {
                        stream.write_all(&buffer[..count]).unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn replies_come_to_who_asked() {
        let (listen, upstream) = (free_address().unwrap(), mirror());
        thread::spawn(move || run(listen, upstream, 2));
        let clients = (0..5).map(|index| {
            thread::spawn(move || {
                let mut client = loop {
                    if let Ok(client) = std::net::TcpStream::connect(listen) {
                        break client;
                    }
                };
                for round in 0..50 {
                    let request = format!("*1\r\n$4\r\n{:04}\r\n", index * 1000 + round).repeat(20);
                    client.write_all(request.as_bytes()).unwrap();
                    let mut reply = vec![0; request.len()];
                    client.read_exact(&mut reply).unwrap();
                    assert_eq!(String::from_utf8_lossy(&reply), request);
                }
            })
        });
        clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    }
}
