//! One descriptor of the process, kept in reserve while anybody listens: with it a connection can be accepted, and
//! so be told off, when there is no other left.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reserve was needed, and no accept has succeeded without it since.
static NEEDED: AtomicBool = AtomicBool::new(false);

static RESERVE: Mutex<Reserve> = Mutex::new(Reserve { keepers: 0, descriptor: None });

struct Reserve {
    keepers: usize,
    /// `None` while it could not be opened again.
    descriptor: Option<OwnedFd>,
}

fn lock() -> MutexGuard<'static, Reserve> {
    RESERVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open() -> Option<OwnedFd> {
    File::open("/dev/null").ok().map(OwnedFd::from)
}

/// Somebody who listens. The reserve lasts as long as one of them does.
#[derive(Debug)]
pub(crate) struct Keeper(());

impl Keeper {
    pub(crate) fn new() -> Self {
        let mut reserve = lock();
        reserve.keepers += 1;
        reserve.descriptor = reserve.descriptor.take().or_else(open);
        Self(())
    }

    /// Accepts by this call; while descriptors are out, not at the same time as somebody who has given the reserve up
    /// for a moment, and would not get it back.
    ///
    /// # Errors
    /// What the call returns.
    pub(crate) fn accept<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if !NEEDED.load(Ordering::Relaxed) {
            return call();
        }
        let _turn = lock();
        let accepted = call();
        NEEDED.store(accepted.is_err(), Ordering::Relaxed);
        accepted
    }

    /// Calls with the reserve given up, and takes it back. All who keep it take turns.
    ///
    /// # Errors
    /// What the call returns; `WouldBlock` when there is no reserve, and none can be had at the moment.
    pub(crate) fn spend<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        NEEDED.store(true, Ordering::Relaxed);
        let mut reserve = lock();
        let descriptor = reserve.descriptor.take().or_else(open).ok_or(io::ErrorKind::WouldBlock)?;
        drop(descriptor);
        let result = call();
        // Another thread may have been faster; the next call tries again.
        reserve.descriptor = open();
        result
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut reserve = lock();
        reserve.keepers -= 1;
        if reserve.keepers == 0 {
            reserve.descriptor = None;
        }
    }
}
