//! The seam: what a runtime must offer so that the server runs on it.
//!
//! This file is the whole contract between the server and a runtime. It owns no behaviour and no
//! default: accepting, admission, placement, panics, the close path and every counter are in the rest of
//! this crate, once. A backend crate implements the traits below and nothing else. `testkit` proves
//! them: its list of cases runs against every backend.
//!
//! The shape, and why:
//! * **Poll-based, state in the object.** An operation in flight lives in the connection, never in a
//!   future that a caller might drop. So dropping any future of ours, in a `select!` or a timeout, loses no
//!   byte, on readiness (epoll) and on completion (`io_uring`) alike.
//! * **Loans.** Received bytes come as a [`Loan`] of memory that the backend owns: a pooled buffer, or one
//!   of the kernel's buffer ring. It returns to this core's pool when it is dropped, and it can be sent
//!   straight back without a copy. An idle connection holds none.
//! * **No `Send`.** Connections, loans and futures stay on their core. What travels between cores is a
//!   [`Detached`] socket with the bytes that were already read.
//!
//! Everything here is on the path of a byte, and therefore static: no boxing and no dynamic dispatch.

use std::fmt::Debug;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::buffer::Buffer;
use crate::cores::CoreId;
use crate::error::Unavailable;

/// Received bytes on loan from the memory of the core that received them.
///
/// Dropping a loan gives the memory back at once. A loan may be kept for as long as its holder likes: a
/// backend that runs out of pooled memory receives into the heap, and never waits for a loan.
pub trait Loan: AsRef<[u8]> + 'static {}

/// Bytes to send, owned by the connection from [`Conn::start_send`] until the flush is done.
///
/// The set is closed so that an operation in flight has a type that can be named.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "backends match every kind; a new one must not compile unseen")]
pub enum SendBuf<L> {
    /// A loan, sent back from the memory it was received into.
    Loan(L),
    /// A buffer of this core's pool, lent by [`Conn::buffer`]; it returns there when it has been sent.
    Pooled(Buffer),
    /// Bytes of the caller's.
    Vec(Vec<u8>),
    /// Bytes that live as long as the program.
    Static(&'static [u8]),
}

impl<L: Loan> AsRef<[u8]> for SendBuf<L> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Loan(loan) => loan.as_ref(),
            Self::Pooled(buffer) => buffer.as_ref(),
            Self::Vec(bytes) => bytes,
            Self::Static(bytes) => bytes,
        }
    }
}

/// A socket that belongs to no runtime: what travels between cores, and between runtimes.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "made by every backend")]
pub struct Detached<S> {
    /// The connected socket, in any blocking mode.
    pub socket: S,
    /// Bytes that were received before the socket was detached. The next owner receives them first.
    pub unread: Vec<u8>,
}

impl<S> From<S> for Detached<S> {
    fn from(socket: S) -> Self {
        Self { socket, unread: Vec::new() }
    }
}

/// A connected socket that belongs to no runtime yet: all that the server asks of a descriptor.
///
/// # Errors
/// Every method returns what the operating system says.
pub trait Socket: Sized + Send + 'static {
    /// A socket that begins to connect to an address, and does not wait for the other end. It is attached next, and
    /// [`Conn::poll_connected`] waits.
    ///
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) says that the accept queue of a Unix socket is full, and that nothing
    /// will tell when it is not.
    fn connect(to: &Address) -> io::Result<Self>;
    /// The address of the other end.
    fn peer_addr(&self) -> io::Result<Address>;
    /// The address of this end.
    fn local_addr(&self) -> io::Result<Address>;
    /// Whether the peer has left: it has reset the connection, or closed it without having sent anything. One
    /// that has sent something and closed may still wait for an answer. Asked of connections that wait.
    fn has_left(&self) -> bool;
    /// Closes with a reset, which the peer sees at once and which leaves no `TIME_WAIT` behind.
    fn reset(self);
}

/// A connection that one runtime drives, on the thread that attached it.
///
/// A send makes progress for certain only while [`poll_flush`](Self::poll_flush) or
/// [`poll_detach`](Self::poll_detach) is polled. Dropping a connection without [`poll_close`](Self::poll_close)
/// closes it soon, and without waiting; the server never does that.
///
/// # Cancel safety
/// Every `poll_` method keeps its state in the connection. A caller may stop polling at any moment and poll
/// the same or another method later; no byte is lost or sent twice, and the waker of the last call to a
/// method is the one that is woken.
pub trait Conn: Sized + Unpin + 'static {
    /// What [`poll_recv`](Self::poll_recv) lends.
    type Loan: Loan;
    /// What [`poll_detach`](Self::poll_detach) gives back.
    type Socket: Socket;

    /// Takes a socket into the runtime of this thread, in whatever blocking mode it is, connected or about to be.
    ///
    /// # Errors
    /// The runtime cannot take it (for example: no memory in the kernel). The socket is closed then.
    fn attach(detached: Detached<Self::Socket>) -> io::Result<Self>;

    /// Waits until a socket that [`Socket::connect`] has made is connected; ready soon if it is. Nothing else may be
    /// done with the connection before, except to close it.
    ///
    /// # Errors
    /// What the other end or the network has answered; a connection to itself, which TCP makes of two equal ports, is
    /// refused. All that can be done with the connection then is to close it.
    fn poll_connected(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Receives what has arrived, at least one byte; `None` at the end of the stream, now and for ever.
    ///
    /// # Errors
    /// What the socket reports (a reset, for example), once; afterwards the end of the stream.
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Self::Loan>>>;

    /// Waits until [`poll_recv`](Self::poll_recv) would not wait, without holding a receive buffer.
    ///
    /// A receive that is in flight with a buffer of ours is withdrawn first, and what it brought is kept. The
    /// server calls this instead of `poll_recv` on a connection that has been idle for a second.
    ///
    /// # Errors
    /// As [`poll_recv`](Self::poll_recv); an error may also be left for it to report.
    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Begins to send all of `bytes`. Nothing is sent for certain until [`poll_flush`](Self::poll_flush) is ready.
    ///
    /// # Panics
    /// When an earlier send has not been flushed. `Connection` in this crate always flushes first.
    fn start_send(&mut self, bytes: SendBuf<Self::Loan>);

    /// Sends the rest of what [`start_send`](Self::start_send) took, short writes included, and drops it.
    /// Ready at once when nothing is being sent.
    ///
    /// # Errors
    /// What the socket reports. The unsent rest is dropped, and the send counts as over.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether a send has begun and has not been flushed.
    fn is_sending(&self) -> bool;

    /// How many bytes the kernel has taken and the peer has not acknowledged: while something is being sent and
    /// this does not change, the peer does not read. Asked at sweeps only, it may cost a system call.
    fn unacknowledged(&self) -> usize;

    /// Makes the close a reset, which drops what the kernel has taken and the peer has not.
    ///
    /// # Errors
    /// What `setsockopt(2)` reports.
    fn reset_on_close(&self) -> io::Result<()>;

    /// Lends an empty buffer of this core's pool, to be filled and sent.
    fn buffer(&self) -> Buffer;

    /// Shuts down one or both directions at once, whatever is in flight.
    ///
    /// A receive that is waiting reports the end of the stream within microseconds after `Read`. A send that
    /// waits for the peer is released only by `Both`.
    ///
    /// # Errors
    /// What `shutdown(2)` reports.
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;

    /// Finishes the send in flight, withdraws the receive in flight, and gives the socket back with the bytes
    /// that had been received. The connection is closed afterwards.
    ///
    /// A caller may give up while this is pending (the peer does not read): the connection is still usable.
    ///
    /// # Errors
    /// What the send or the receive in flight reports; the connection stays attached then.
    fn poll_detach(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Detached<Self::Socket>>>;

    /// Closes at once: ends what is in flight and waits until the runtime holds nothing of this connection.
    /// Nothing is being sent or received afterwards. Ready at once when the connection is closed or detached.
    ///
    /// Bytes not yet flushed are dropped. Input not yet received makes the kernel reset the connection; the
    /// server's close path receives it first.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// A listening socket, attached to the runtime of one worker.
///
/// Waiting and accepting are two steps, so that no accept operation is ever in flight: one that is
/// withdrawn could lose a connection.
pub trait Listener: Sized + Unpin + 'static {
    /// A listening socket that belongs to no runtime yet, made by [`Backend::bind`].
    type Bound: Send + 'static;
    /// What [`try_accept`](Self::try_accept) gives.
    type Socket: Socket;

    /// Takes a listening socket into the runtime of this thread.
    ///
    /// # Errors
    /// The runtime cannot take it.
    fn attach(bound: Self::Bound) -> io::Result<Self>;

    /// Waits until there may be something to accept.
    ///
    /// # Errors
    /// What the runtime reports of its readiness; the listener is not usable afterwards.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Accepts one connection; `None` when nothing is queued. Never waits.
    ///
    /// The socket is not registered with any runtime, non-blocking, and closed on exec.
    ///
    /// # Errors
    /// What `accept4(2)` reports; the caller decides whether to go on.
    fn try_accept(&mut self) -> io::Result<Option<(Self::Socket, SocketAddr)>>;

    /// Accepts one connection only to close it, with a descriptor that is kept in reserve for this: when there is
    /// none left, so that its client need not wait. `None` when nothing is queued.
    ///
    /// # Errors
    /// What `accept4(2)` reports; and `WouldBlock` when there is no reserve at the moment.
    fn shed(&mut self) -> io::Result<Option<SocketAddr>>;

    /// From now on no new handshake begins; those that have begun go on, and what is queued stays queued.
    ///
    /// # Errors
    /// The kernel does not allow it.
    fn refuse_new(&mut self) -> io::Result<()>;

    /// How many handshakes have begun, on the address of this listener, and are not done.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn half_open(&mut self) -> io::Result<usize>;

    /// Closes the socket and waits until the runtime holds nothing of it.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// What [`Backend::bind`] is asked for: one address, once per worker.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "read by every backend")]
pub struct Bind {
    /// The address; port 0 is resolved once, for all workers.
    pub address: SocketAddr,
    /// How many listening sockets share the address.
    pub listeners: usize,
    /// The length of each accept queue, in connections.
    pub backlog: u32,
    /// Whether an IPv6 wildcard leaves IPv4 alone.
    pub v6_only: bool,
}

/// One async runtime, seen from the server.
pub trait Backend: Sized + Debug + 'static {
    /// The name by which users choose it.
    const NAME: &'static str;
    /// A connection on this runtime.
    type Conn: Conn<Socket = Self::Socket>;
    /// A listener on this runtime.
    type Listener: Listener<Socket = Self::Socket>;
    /// A connected socket outside of any runtime.
    type Socket: Socket;
    /// The knobs of this runtime. The defaults are the measured best.
    type Config: Clone + Default + Debug + Send + Sync + 'static;

    /// Binds one address for all workers and claims it: a second server of ours is refused.
    ///
    /// # Errors
    /// The address is in use, not ours, or not allowed.
    fn bind(bind: &Bind) -> io::Result<(SocketAddr, Vec<BoundOf<Self>>)>;

    /// Starts a runtime on this thread, pinned to `core` if one is given, and drives the future that `root`
    /// makes to its end. `root` is told which driver really runs: "epoll", "io_uring" or "simulated".
    ///
    /// # Errors
    /// The runtime cannot start; the error says why, and what to do about it. `root` was not called then.
    fn run<F: Future>(
        core: Option<CoreId>,
        config: &Self::Config,
        root: impl FnOnce(&'static str) -> F,
    ) -> Result<F::Output, Unavailable>;

    /// Runs a future on this thread's runtime, detached. The server gives it no future that panics.
    fn spawn_local(future: impl Future<Output = ()> + 'static);

    /// Sleeps on this thread's runtime. Dropping the future withdraws the timer.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static;

    /// The time of this thread's runtime: the only clock that the server reads.
    fn now() -> Instant;

    /// How many buffers of this thread's pools are lent out: held by loans, sends, and receives in flight.
    fn lent_buffers() -> usize;
}

/// The loan of a backend's connections.
pub type LoanOf<B> = <<B as Backend>::Conn as Conn>::Loan;
/// The bound listener of a backend.
pub type BoundOf<B> = <<B as Backend>::Listener as Listener>::Bound;
