//! A thread that tells the workers when to look over their connections.
//!
//! A timer in the workers' runtimes would do as well, and cost up to a tenth of the CPU time of a request: while
//! one is pending, every wait of the runtime has a timeout, for which it reads the clock and the kernel sets a
//! timer of its own. So a worker that serves has none.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;

use crate::handle::Handle;
use crate::worker::SWEEP_INTERVAL;

/// Commands sweeps for as long as it lives.
#[derive(Debug)]
pub(crate) struct Sweeper {
    /// Dropped to end the thread.
    alive: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Begins to command sweeps.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(server: Handle) -> io::Result<Self> {
        let (alive, ended) = mpsc::channel();
        let thread = std::thread::Builder::new().name("corepool-sweeper".into()).spawn(move || {
            while ended.recv_timeout(SWEEP_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                server.sweep();
            }
        })?;
        Ok(Self { alive: Some(alive), thread: Some(thread) })
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.alive = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
