//! A thread that tells the workers when to look over their connections.
//!
//! A timer in the workers' runtimes would do as well, and cost up to a tenth of the CPU time of a request: while
//! one is pending, every wait of the runtime has a timeout, for which it reads the clock and the kernel sets a
//! timer of its own. So a worker that serves has none.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::handle::Handle;
use crate::mail::Lines;

/// Commands sweeps for as long as it lives, and looks after those who wait: a worker that is stuck in a handler
/// must not keep a deadline of theirs from passing.
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
    pub(crate) fn start(server: Handle, lines: Arc<dyn Lines>, interval: Duration) -> io::Result<Self> {
        let (alive, ended) = mpsc::channel();
        let thread = std::thread::Builder::new().name("corepool-sweeper".into()).spawn(move || {
            let mut next = Instant::now() + interval;
            loop {
                let until = lines.next_deadline().map_or(next, |deadline| deadline.min(next));
                let rest = until.saturating_duration_since(Instant::now()).min(interval);
                if ended.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let now = Instant::now();
                lines.expire(now);
                if now >= next {
                    next = now + interval;
                    lines.remove_gone();
                    server.sweep();
                }
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
