//! What has come back for one client: sent at once if that is possible, and else by the client's task.
//!
//! The driver of a link, which has just received a reply, sends it on itself. So a client's task has to run only once for
//! a request, and the reply goes out of memory that is still warm. What the kernel does not take at once is left to the
//! client's task.

use std::cell::{Cell, RefCell};
use std::io;
use std::task::{Context, Poll, Waker};

use corepool::backend::{LoanOf, SendBuf};
use corepool::{Backend, Connection};

use super::pieces::Pieces;
use crate::answers::Cut;

/// The side of a client that outlives it, as long as it is owed replies.
pub(super) struct Mailbox<B: Backend> {
    /// Borrowed for the length of one call, never across one. `None` when the client has left.
    pub(super) connection: RefCell<Option<Connection<B>>>,
    /// What waits behind a send that the client's task has to finish.
    output: RefCell<Pieces<LoanOf<B>>>,
    /// A send is under way, and the client's task is told when it is done.
    pub(super) busy: Cell<bool>,
    /// The client's task waits for replies to do something else.
    pub(super) attentive: Cell<bool>,
    /// How many replies are still to come.
    owed: Cell<u32>,
    /// The client has left, or is about to: what still comes for it is dropped.
    gone: Cell<bool>,
    cut: Cell<Option<Cut>>,
    failed: Cell<Option<io::Error>>,
    /// It waits for room in a link, which has it in its queue.
    pub(super) queued: Cell<bool>,
    /// It was its turn to find room, and it has not looked yet.
    pub(super) called: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl<B: Backend> Mailbox<B> {
    pub(super) fn new(connection: Connection<B>) -> Self {
        Self {
            connection: RefCell::new(Some(connection)),
            output: RefCell::new(Pieces::new()),
            busy: Cell::new(false),
            attentive: Cell::new(false),
            owed: Cell::new(0),
            gone: Cell::new(false),
            cut: Cell::new(None),
            failed: Cell::new(None),
            queued: Cell::new(false),
            called: Cell::new(false),
            waker: RefCell::new(None),
        }
    }

    /// Remembers the client's task.
    pub(super) fn remember(&self, waker: &Waker) {
        let mut known = self.waker.borrow_mut();
        if known.as_ref().is_none_or(|known| !known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.borrow().as_ref() {
            waker.wake_by_ref();
        }
    }

    pub(super) fn owed(&self) -> u32 {
        self.owed.get()
    }

    pub(super) fn owe(&self, more: u32) {
        self.owed.set(self.owed.get() + more);
    }

    /// So many replies have come whole.
    pub(super) fn paid(&self, replies: u32) {
        self.owed.set(self.owed.get() - replies);
    }

    /// Sends a copy of these bytes, or lets them wait; at `most` so many may wait.
    pub(super) fn copy(&self, bytes: &[u8], most: usize) {
        if !self.has_room(bytes.len(), most) {
            return;
        }
        let connection = self.connection.borrow();
        let Some(client) = connection.as_ref() else { return };
        if self.is_free() && bytes.len() <= COPIED_MAX {
            let mut buffer = client.buffer();
            buffer.extend_from_slice(bytes);
            drop(connection);
            self.send(buffer.into());
        } else {
            self.output.borrow_mut().copy(bytes, || client.buffer());
            self.wake();
        }
    }

    /// Sends these bytes as they are, or lets them wait; at `most` so many may wait.
    pub(super) fn push(&self, piece: impl Into<SendBuf<LoanOf<B>>>, most: usize) {
        let piece = piece.into();
        if !self.has_room(piece.as_ref().len(), most) {
            return;
        }
        if self.is_free() {
            self.send(piece);
        } else {
            self.output.borrow_mut().push(piece);
            self.wake();
        }
    }

    /// Nothing is being sent, and nothing waits.
    fn is_free(&self) -> bool {
        !self.busy.get() && self.waiting() == 0
    }

    fn send(&self, piece: SendBuf<LoanOf<B>>) {
        let mut connection = self.connection.borrow_mut();
        let Some(client) = connection.as_mut() else { return };
        // Begun by the call. Who is to be told when it can go on is the client's task, which is woken for that.
        drop(client.send(piece));
        match client.poll_flush(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) if !self.attentive.get() => {}
            Poll::Ready(Ok(())) => self.wake(),
            Poll::Ready(Err(error)) => {
                self.failed.set(Some(error));
                self.gone.set(true);
                self.wake();
            }
            Poll::Pending => {
                self.busy.set(true);
                self.wake();
            }
        }
    }

    /// Takes out what is to be sent next.
    pub(super) fn pop(&self) -> Option<SendBuf<LoanOf<B>>> {
        self.output.borrow_mut().pop()
    }

    /// How many bytes wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.output.borrow().len()
    }

    /// Ends the client.
    pub(super) fn cut(&self, cut: Cut) {
        if !self.gone.get() {
            self.cut.set(Some(cut));
            self.give_up();
            self.wake();
        }
    }

    /// Why the client is to end, once.
    pub(super) fn take_cut(&self) -> Option<Cut> {
        self.cut.take()
    }

    /// What has gone wrong with sending, once.
    pub(super) fn take_failure(&self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Drops what has come, and what will.
    pub(super) fn leave(&self) {
        self.give_up();
        self.connection.take();
    }

    fn give_up(&self) {
        self.gone.set(true);
        self.output.borrow_mut().clear();
    }

    fn has_room(&self, bytes: usize, most: usize) -> bool {
        if self.waiting() + bytes > most {
            self.cut(Cut::Unread);
        }
        !self.gone.get()
    }
}

/// The longest reply that is copied in order to be sent at once: it fits in a pooled buffer.
const COPIED_MAX: usize = 16 << 10;
