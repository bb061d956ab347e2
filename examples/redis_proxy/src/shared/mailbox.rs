//! What has come back for one client, until its task sends it.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use corepool::Backend;
use corepool::backend::{LoanOf, SendBuf};
use corepool::buffer::Buffer;

use super::pieces::Pieces;
use crate::answers::Cut;

/// The side of a client that outlives it, as long as it is owed replies.
pub(super) struct Mailbox<B: Backend> {
    output: RefCell<Pieces<LoanOf<B>>>,
    /// How many replies are still to come.
    owed: Cell<u32>,
    /// The client has left, or is about to: what still comes for it is dropped.
    gone: Cell<bool>,
    cut: Cell<Option<Cut>>,
    /// It waits for room in a link, which has it in its queue.
    pub(super) queued: Cell<bool>,
    /// It was its turn to find room, and it has not looked yet.
    pub(super) called: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl<B: Backend> Mailbox<B> {
    pub(super) fn new() -> Self {
        Self {
            output: RefCell::new(Pieces::new()),
            owed: Cell::new(0),
            gone: Cell::new(false),
            cut: Cell::new(None),
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

    /// Puts in a copy of these bytes; at `most` so many may wait.
    pub(super) fn copy(&self, bytes: &[u8], most: usize, buffer: impl Fn() -> Buffer) {
        if self.has_room(bytes.len(), most) {
            self.output.borrow_mut().copy(bytes, buffer);
        }
    }

    /// Puts in these bytes as they are; at `most` so many may wait.
    pub(super) fn push(&self, piece: impl Into<SendBuf<LoanOf<B>>>, most: usize) {
        let piece = piece.into();
        if self.has_room(piece.as_ref().len(), most) {
            self.output.borrow_mut().push(piece);
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
            self.leave();
        }
    }

    /// Why the client is to end, once.
    pub(super) fn take_cut(&self) -> Option<Cut> {
        self.cut.take()
    }

    /// Drops what has come, and what will.
    pub(super) fn leave(&self) {
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
