//! tokio by hand: `tokio-per-core`, a `LocalRuntime` per worker, and `tokio-default`,
//! one work-stealing runtime with one listener.
//!
//! `read` rather than `try_read`: a read that does not fill the buffer clears
//! the readiness, which saves a `recv` that only says that nothing is left.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use super::session::Script;
use super::wire::{Wire, converse};
use super::workers::{Readiness, listen};
use super::{ServeOptions, Stop};
use crate::cores::confine_current_thread;

/// One worker of `tokio-per-core`.
pub(super) fn run(listener: TcpListener, script: Script, ready: Readiness) -> io::Result<()> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    if !script.is_echo() {
        // An echo does not pay for the timer that it does not need.
        builder.enable_time();
    }
    let runtime = builder.build_local(Default::default())?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::task::spawn_local(converse(stream, script));
        }
    })
}

/// All of `tokio-default`: its threads may run on any of the cores.
pub(super) fn start_default(options: &ServeOptions, stop: &Sender<Stop>) -> io::Result<Vec<SocketAddr>> {
    let listener = listen(options.address)?;
    let address = listener.local_addr()?;
    let script = Script::new(options.service);
    let (cores, workers, stop) = (options.cores.clone(), options.workers, stop.clone());
    let (started, starting) = mpsc::channel();
    thread::Builder::new().name("runtime".to_owned()).spawn(move || {
        let ready = Readiness::new(started.clone());
        let confined = if cores.is_empty() { Ok(()) } else { confine_current_thread(&cores) };
        let reason = match confined.and_then(|()| run_default(listener, workers, script, ready)) {
            Ok(()) => io::Error::other("ended"),
            Err(error) => error,
        };
        // One of the two still listens: who starts us, or who waits for the end.
        let _ = stop.send(Stop::Failed(reason.to_string()));
        let _ = started.send(Err(reason));
    })?;
    starting.recv().map_err(io::Error::other)??;
    Ok(vec![address])
}

fn run_default(listener: TcpListener, workers: usize, script: Script, ready: Readiness) -> io::Result<()> {
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let accept = async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        ready.announce();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(converse(stream, script));
        }
    };
    // On a worker, where a task that accepts costs less than on the thread that blocks.
    runtime.block_on(runtime.spawn(accept)).map_err(io::Error::other)?
}

impl Wire for TcpStream {
    async fn receive(&mut self, mut buffer: Vec<u8>) -> io::Result<(Vec<u8>, usize)> {
        let received = self.read(&mut buffer).await?;
        Ok((buffer, received))
    }

    async fn send(&mut self, buffer: Vec<u8>, bytes: usize) -> io::Result<Vec<u8>> {
        self.write_all(&buffer[..bytes]).await?;
        Ok(buffer)
    }

    async fn send_static(&mut self, bytes: &'static [u8]) -> io::Result<()> {
        self.write_all(bytes).await
    }

    async fn sleep(time: Duration) {
        tokio::time::sleep(time).await;
    }
}
