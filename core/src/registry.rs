//! All open connections of one worker.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Instant;

use slab::Slab;

use crate::backend::Backend;
use crate::deadlines::Deadlines;
use crate::entry::{Cut, Entry};

/// All open connections of one worker.
pub(crate) struct Registry<B: Backend> {
    entries: RefCell<Slab<Rc<Entry<B>>>>,
    emptied: RefCell<Option<Waker>>,
}

impl<B: Backend> Registry<B> {
    pub(crate) fn new() -> Self {
        Self { entries: RefCell::new(Slab::new()), emptied: RefCell::default() }
    }

    pub(crate) fn insert(&self, entry: Rc<Entry<B>>) {
        let mut entries = self.entries.borrow_mut();
        let vacant = entries.vacant_entry();
        entry.key.set(vacant.key());
        vacant.insert(entry);
    }

    /// Removes an entry; whoever waits for the registry to be empty is told when it is.
    pub(crate) fn remove(&self, entry: &Entry<B>) {
        let mut entries = self.entries.borrow_mut();
        entries.remove(entry.key.get());
        if entries.is_empty() {
            drop(entries);
            if let Some(waker) = self.emptied.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether no connection is open; if one is, the caller is woken when the last has gone.
    pub(crate) fn is_empty(&self, cx: &Context<'_>) -> bool {
        let empty = self.entries.borrow().is_empty();
        if !empty {
            *self.emptied.borrow_mut() = Some(cx.waker().clone());
        }
        empty
    }

    pub(crate) fn sweep(&self, deadlines: &Deadlines, now: Instant) {
        self.each(|entry| entry.sweep(deadlines, now));
    }

    pub(crate) fn kick_all(&self) {
        self.each(Entry::kick);
    }

    pub(crate) fn abort_all(&self) {
        self.each(|entry| entry.cut(Cut::Aborted));
    }

    fn each(&self, act: impl Fn(&Entry<B>)) {
        for (_, entry) in self.entries.borrow().iter() {
            act(entry);
        }
    }
}
