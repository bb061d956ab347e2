//! Threads and listeners of the servers by hand: each worker has a pinned
//! thread and a listener of its own, all on one address with `SO_REUSEPORT`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::thread;

use socket2::{Domain, Socket, Type};

use super::session::Script;
use super::{ServeOptions, Stop};
use crate::cores::pin_current_thread;

/// What a worker says once its runtime runs and it is about to accept.
#[derive(Debug)]
pub(super) struct Readiness(Sender<io::Result<()>>);

impl Readiness {
    pub(super) const fn new(started: Sender<io::Result<()>>) -> Self {
        Self(started)
    }

    pub(super) fn announce(self) {
        // Nobody listens any more when another worker has failed already.
        let _ = self.0.send(Ok(()));
    }
}

/// The loop of one worker; it returns only when it cannot go on.
pub(super) type Run = fn(TcpListener, Script, Readiness) -> io::Result<()>;

/// Starts the workers and waits until all of them accept connections.
pub(super) fn start(options: &ServeOptions, stop: &Sender<Stop>, run: Run) -> io::Result<Vec<SocketAddr>> {
    let listeners = listeners(options.address, options.workers)?;
    let address = match listeners.first() {
        Some(listener) => listener.local_addr()?,
        None => return Err(io::Error::other("a server needs at least one worker")),
    };
    let script = Script::new(options.service);
    let (started, starting) = mpsc::channel();
    for (index, listener) in listeners.into_iter().enumerate() {
        let core = options.cores.wrapping(index);
        let (started, stop) = (started.clone(), stop.clone());
        thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
            let reason = work(core, (listener, script), run, &started);
            // One of the two still listens: who starts us, or who waits for the end.
            let _ = stop.send(Stop::Failed(format!("worker {index}: {reason}")));
            let _ = started.send(Err(reason));
        })?;
    }
    for _ in 0..options.workers {
        starting.recv().map_err(io::Error::other)??;
    }
    Ok(vec![address])
}

/// Runs one worker; what comes back is why it ended.
fn work(
    core: Option<usize>,
    (listener, script): (TcpListener, Script),
    run: Run,
    started: &Sender<io::Result<()>>,
) -> io::Error {
    if let Some(Err(error)) = core.map(pin_current_thread) {
        return error;
    }
    let ready = Readiness(started.clone());
    match catch_unwind(AssertUnwindSafe(|| run(listener, script, ready))) {
        Ok(Ok(())) => io::Error::other("ended"),
        Ok(Err(error)) => error,
        Err(_) => io::Error::other("panicked"),
    }
}

/// As many listeners as there are workers; the first one resolves port 0.
fn listeners(address: SocketAddr, workers: usize) -> io::Result<Vec<TcpListener>> {
    let mut address = address;
    let mut listeners = Vec::with_capacity(workers);
    for _ in 0..workers {
        let listener = listen(address)?;
        address = listener.local_addr()?;
        listeners.push(listener);
    }
    Ok(listeners)
}

/// A listener that others may share the address with.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listen = || {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    listen().map_err(|error: io::Error| io::Error::new(error.kind(), format!("listen on {address}: {error}")))
}

/// Room for all connections of a large run to arrive at once.
const BACKLOG: i32 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_the_port_that_the_first_one_got() {
        let listeners = listeners("127.0.0.1:0".parse().unwrap(), 3).unwrap();
        let port = listeners[0].local_addr().unwrap().port();
        assert_ne!(port, 0);
        assert!(listeners.iter().all(|l| l.local_addr().unwrap().port() == port));
    }

    #[test]
    fn a_worker_that_fails_or_panics_at_the_start_fails_the_start() {
        let (stop, _stopped) = mpsc::channel();
        let fails: Run = |_, _, _| Err(io::Error::other("no ring"));
        let panics: Run = |_, _, _| panic!("broken");
        let options = ServeOptions::default();
        let error = start(&options, &stop, fails).unwrap_err();
        assert_eq!(error.to_string(), "no ring");
        let error = start(&options, &stop, panics).unwrap_err();
        assert_eq!(error.to_string(), "panicked");
    }
}
