//! SIGTERM and SIGINT: the first ends the server politely, the second at once.

use std::io;
use std::thread::JoinHandle;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::{Handle as SignalsHandle, Signals};

use crate::handle::Handle;
use crate::log;

/// Forwards signals to a server while it lives.
#[derive(Debug)]
pub(crate) struct Forwarding {
    signals: SignalsHandle,
    thread: Option<JoinHandle<()>>,
}

impl Forwarding {
    /// Begins to forward.
    ///
    /// # Errors
    /// The signal handlers or the thread cannot be set up.
    pub(crate) fn start(server: Handle) -> io::Result<Self> {
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        let handle = signals.handle();
        let thread = std::thread::Builder::new().name("corepool-signals".into()).spawn(move || {
            let mut asked = false;
            for signal in &mut signals {
                // First what was asked for, then the log.
                if asked {
                    server.abort();
                    log::guarded(|| tracing::info!(signal, "asked again: ending at once"));
                } else {
                    server.shutdown();
                    log::guarded(|| tracing::info!(signal, "asked to end: draining"));
                }
                asked = true;
            }
        })?;
        Ok(Self { signals: handle, thread: Some(thread) })
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.signals.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
