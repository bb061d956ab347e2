//! Addresses: who listens on them, and how a client gets to one of its listeners.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use corepool_core::backend::{Bind, Socket};
use fastrand::Rng;

use super::link::SimulatedSocket;
use super::listener::SimulatedBound;

/// The first port that is given to who asks for port 0, or connects.
const FIRST_FREE_PORT: u16 = 32768;

/// Where all clients come from.
const CLIENTS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// All addresses of a world.
pub(super) struct Network {
    groups: RefCell<Vec<Group>>,
    next_port: Cell<u16>,
}

/// The listeners that share an address. It is claimed while one of them lives.
struct Group {
    address: SocketAddr,
    v6_only: bool,
    queues: Vec<Weak<AcceptQueue>>,
}

/// The connections that wait to be accepted by one listener.
#[derive(Debug)]
pub(super) struct AcceptQueue {
    backlog: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<SimulatedSocket>,
    acceptor: Option<Waker>,
    /// Nobody gets in any more.
    refusing: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self { groups: RefCell::default(), next_port: Cell::new(FIRST_FREE_PORT) }
    }
}

impl Network {
    pub(super) fn bind(&self, bind: &Bind) -> io::Result<(SocketAddr, Vec<SimulatedBound>)> {
        let mut address = bind.address;
        if address.port() == 0 {
            address.set_port(self.free_port());
        }
        let mut groups = self.groups.borrow_mut();
        groups.retain(Group::is_alive);
        if groups.iter().any(|group| group.conflicts(address, bind.v6_only)) {
            return Err(ErrorKind::AddrInUse.into());
        }
        let queues: Vec<_> = (0..bind.listeners).map(|_| Arc::new(AcceptQueue::new(bind.backlog))).collect();
        let claims = queues.iter().map(Arc::downgrade).collect();
        groups.push(Group { address, v6_only: bind.v6_only, queues: claims });
        Ok((address, queues.into_iter().map(SimulatedBound).collect()))
    }

    /// Offers a connection to one of the listeners of `address`: it comes back when the queue is full.
    pub(super) fn offer(
        &self,
        address: SocketAddr,
        theirs: SimulatedSocket,
        random: &mut Rng,
    ) -> io::Result<Option<SimulatedSocket>> {
        let groups = self.groups.borrow();
        let group = groups.iter().find(|group| group.listens_on(address));
        let mut queues: Vec<_> =
            group.into_iter().flat_map(|group| &group.queues).filter_map(Weak::upgrade).collect();
        if queues.is_empty() {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let queue = queues.swap_remove(random.usize(..queues.len()));
        Ok(queue.push(theirs))
    }

    /// The address of a new client.
    pub(super) fn client(&self) -> SocketAddr {
        SocketAddr::new(CLIENTS, self.free_port())
    }

    fn free_port(&self) -> u16 {
        let next = self.next_port.get();
        self.next_port.set(next.checked_add(1).unwrap_or(FIRST_FREE_PORT));
        next
    }
}

impl Group {
    fn is_alive(&self) -> bool {
        self.queues.iter().any(|queue| queue.strong_count() > 0)
    }

    fn conflicts(&self, address: SocketAddr, v6_only: bool) -> bool {
        if self.address.port() != address.port() {
            return false;
        }
        covers(self.address, self.v6_only, address.ip()) || covers(address, v6_only, self.address.ip())
    }

    fn listens_on(&self, address: SocketAddr) -> bool {
        self.is_alive()
            && self.address.port() == address.port()
            && covers(self.address, self.v6_only, address.ip())
    }
}

/// Whether who is bound to `bound` gets what comes for `ip`.
fn covers(bound: SocketAddr, v6_only: bool, ip: IpAddr) -> bool {
    let any = bound.ip().is_unspecified();
    bound.ip() == ip || any && (bound.is_ipv4() == ip.is_ipv4() || bound.is_ipv6() && !v6_only)
}

impl AcceptQueue {
    fn new(backlog: u32) -> Self {
        let backlog = usize::try_from(backlog).unwrap_or(usize::MAX);
        Self { backlog, state: Mutex::default() }
    }

    /// Takes the connection that has waited longest.
    pub(super) fn pop(&self) -> Option<SimulatedSocket> {
        self.lock().waiting.pop_front()
    }

    /// From now on nobody gets in; who tries gets no answer.
    pub(super) fn refuse_new(&self) {
        self.lock().refusing = true;
    }

    /// Waits until somebody waits.
    pub(super) fn poll_ready(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            state.acceptor = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Queues a connection; without room it comes back.
    fn push(&self, socket: SimulatedSocket) -> Option<SimulatedSocket> {
        let mut state = self.lock();
        if state.refusing || state.waiting.len() >= self.backlog {
            return Some(socket);
        }
        state.waiting.push_back(socket);
        if let Some(acceptor) = state.acceptor.take() {
            acceptor.wake();
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever still waits is reset, as Linux does.
impl Drop for AcceptQueue {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        waiting.into_iter().for_each(Socket::reset);
    }
}
