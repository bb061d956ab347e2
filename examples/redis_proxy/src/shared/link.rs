//! One upstream connection that clients share: what is to be sent over it, and who is owed its replies.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use corepool::Backend;
use corepool::backend::{LoanOf, SendBuf};
use corepool::buffer::Buffer;

use super::mailbox::Mailbox;
use super::pieces::Pieces;
use crate::answers::Cut;

/// How many bytes may wait to be sent; a single request may be longer.
const OUTGOING_MAX: usize = 1 << 20;

/// While less than this waits to be sent, more is put to it rather than to another link.
const GATHERED_MAX: usize = 8 << 10;

/// From this length on a request is sent from where it is.
const LONG: usize = 8 << 10;

/// One upstream connection.
pub(super) struct Link<B: Backend> {
    state: Cell<State>,
    /// How many replies may be owed at a time.
    window: u32,
    owed: Cell<u32>,
    /// The upstream does not take what is sent.
    blocked: Cell<bool>,
    flights: RefCell<VecDeque<Flight<B>>>,
    outgoing: RefCell<Pieces<LoanOf<B>>>,
    /// Clients that wait for room, in the order of their coming.
    queue: RefCell<VecDeque<Rc<Mailbox<B>>>>,
    driver: RefCell<Option<Waker>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Requests are taken, and sent as soon as there is a connection.
    Open,
    /// There was no connection to be had a moment ago.
    Down,
    Closed,
}

/// Replies in a row that one client is owed.
struct Flight<B: Backend> {
    client: Rc<Mailbox<B>>,
    replies: u32,
}

impl<B: Backend> Link<B> {
    pub(super) fn new(window: u32) -> Self {
        Self {
            state: Cell::new(State::Open),
            window,
            owed: Cell::new(0),
            blocked: Cell::new(false),
            flights: RefCell::default(),
            outgoing: RefCell::new(Pieces::new()),
            queue: RefCell::default(),
            driver: RefCell::new(None),
        }
    }

    pub(super) fn is_down(&self) -> bool {
        self.state.get() == State::Down
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.get() == State::Closed
    }

    /// No more requests are taken for a while, or again.
    pub(super) fn set_down(&self, down: bool) {
        if !self.is_closed() {
            self.state.set(if down { State::Down } else { State::Open });
        }
    }

    /// Ends the driver.
    pub(super) fn close(&self) {
        self.state.set(State::Closed);
        self.wake_driver();
    }

    /// Whether something is about to be sent over it, and a little more would cost no more.
    pub(super) fn is_gathering(&self) -> bool {
        let outgoing = self.outgoing.borrow().len();
        outgoing > 0 && outgoing < GATHERED_MAX && !self.blocked.get() && self.free() > 0
    }

    /// How busy it is: replies owed, and clients that wait.
    pub(super) fn load(&self) -> usize {
        self.owed.get() as usize + self.queue.borrow().len()
    }

    pub(super) fn owed(&self) -> u32 {
        self.owed.get()
    }

    // ---- the clients' side

    /// How many requests the client may submit now; with 0 it is in the queue, and is woken when it is its turn.
    pub(super) fn room(&self, client: &Rc<Mailbox<B>>) -> u32 {
        let mut queue = self.queue.borrow_mut();
        let turn = client.called.replace(false) || (queue.is_empty() && !client.queued.get());
        let room = self.free();
        if turn && room > 0 {
            return room;
        }
        if !client.queued.replace(true) {
            // Who was called in vain is still the first.
            if turn { queue.push_front(Rc::clone(client)) } else { queue.push_back(Rc::clone(client)) }
        }
        0
    }

    /// Takes whole requests, as a copy of `bytes` and then `more`, which will have so many replies.
    pub(super) fn submit(
        &self,
        client: &Rc<Mailbox<B>>,
        begun: Option<Buffer>,
        bytes: &[u8],
        replies: u32,
        buffer: impl Fn() -> Buffer,
    ) {
        let mut outgoing = self.outgoing.borrow_mut();
        match begun {
            Some(mut begun) if begun.len() + bytes.len() >= LONG => {
                begun.extend_from_slice(bytes);
                outgoing.push(begun);
            }
            begun => {
                outgoing.copy(begun.as_deref().unwrap_or_default(), &buffer);
                outgoing.copy(bytes, &buffer);
            }
        }
        if replies > 0 {
            self.owe(client, replies);
        }
        self.wake_driver();
    }

    fn owe(&self, client: &Rc<Mailbox<B>>, replies: u32) {
        let mut flights = self.flights.borrow_mut();
        match flights.back_mut() {
            Some(last) if Rc::ptr_eq(&last.client, client) => last.replies += replies,
            _ => flights.push_back(Flight { client: Rc::clone(client), replies }),
        }
        client.owe(replies);
        self.owed.set(self.owed.get() + replies);
    }

    /// Calls the next client that waits, if there is room for it. Each calls the next when it has looked.
    pub(super) fn call_next(&self) {
        if self.free() == 0 {
            return;
        }
        if let Some(next) = self.queue.borrow_mut().pop_front() {
            next.queued.set(false);
            next.called.set(true);
            next.wake();
        }
    }

    /// Forgets a client that waits, or was called.
    pub(super) fn forget(&self, client: &Rc<Mailbox<B>>) {
        if client.queued.replace(false) {
            self.queue.borrow_mut().retain(|waiting| !Rc::ptr_eq(waiting, client));
        }
        if client.called.replace(false) {
            self.call_next();
        }
    }

    fn free(&self) -> u32 {
        if self.outgoing.borrow().len() >= OUTGOING_MAX {
            return 0;
        }
        self.window.saturating_sub(self.owed.get())
    }

    // ---- the driver's side

    pub(super) fn set_blocked(&self, blocked: bool) {
        self.blocked.set(blocked);
    }

    pub(super) fn remember_driver(&self, waker: &Waker) {
        let mut known = self.driver.borrow_mut();
        if known.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    fn wake_driver(&self) {
        if let Some(driver) = self.driver.borrow().as_ref() {
            driver.wake_by_ref();
        }
    }

    /// What is to be sent next.
    pub(super) fn pop_outgoing(&self) -> Option<SendBuf<LoanOf<B>>> {
        self.outgoing.borrow_mut().pop()
    }

    /// Who is owed the next reply.
    pub(super) fn next_client(&self) -> Option<Rc<Mailbox<B>>> {
        self.flights.borrow().front().map(|flight| Rc::clone(&flight.client))
    }

    /// The next reply has come whole. How many more its client is owed before another one's turn.
    pub(super) fn reply_came(&self) -> u32 {
        let mut flights = self.flights.borrow_mut();
        let Some(flight) = flights.front_mut() else { return 0 };
        flight.replies -= 1;
        flight.client.paid(1);
        self.owed.set(self.owed.get() - 1);
        let left = flight.replies;
        if left == 0 {
            flights.pop_front();
        }
        left
    }

    /// Answers everything that is owed by an error, drops what was to be sent, and lets those who wait look elsewhere.
    /// A client that has a part of its next reply cannot be told, and is cut off. Returns how many replies were lost.
    pub(super) fn fail(&self, answer: &str, is_reply_cut: bool, most: usize) -> u64 {
        self.outgoing.borrow_mut().clear();
        let flights = self.flights.take();
        if let Some(first) = flights.front().filter(|_| is_reply_cut) {
            first.client.cut(Cut::ReplyCut);
        }
        for Flight { client, replies } in flights {
            client.paid(replies);
            client.push(answer.repeat(replies as usize).into_bytes(), most);
        }
        for waiting in self.queue.take() {
            waiting.queued.set(false);
            waiting.wake();
        }
        self.owed.replace(0).into()
    }
}
