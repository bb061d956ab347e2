//! How often a worker is woken for what others send it, while clients come and go as fast as they can.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use corepool::{Backend, Connection, Handler, Placement, Server};
use socket2::SockRef;

use crate::Scale;
use crate::estimate::Estimate;

/// As many as the lab has where it measures the whole of a transfer.
const CLIENTS: usize = 32;
const WORKERS: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Echo;

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut conn: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = conn.recv().await? {
            conn.send(chunk).await?;
        }
        Ok(())
    }
}

/// How often a worker has found something in its mailbox, for each connection that was in it. It is woken at most so
/// often: a worker that is awake looks without being woken.
pub(crate) fn batches_per_connection<B: Backend>(scale: Scale) -> Estimate {
    let server = Server::new().listen("127.0.0.1:0").workers(WORKERS).limit(1024).backend(B::NAME);
    let server = server.placement(Placement::AlwaysOther).start(|_worker| Echo).expect("a server");
    let handle = server.handle();
    let (address, over) = (handle.addresses()[0], AtomicBool::new(false));
    let shares = thread::scope(|threads| {
        for _ in 0..CLIENTS {
            threads.spawn(|| while !over.load(Ordering::Relaxed) && come_and_go(address).is_ok() {});
        }
        let look = || {
            let stats = handle.stats();
            (stats.total(|counts| counts.batches), stats.total(|counts| counts.received))
        };
        let share = |_| {
            let before = look();
            thread::sleep(Duration::from_millis(scale.load_ms));
            let after = look();
            (after.0 - before.0) as f64 / (after.1 - before.1).max(1) as f64
        };
        let shares = (0..scale.samples.min(SAMPLES_MAX)).map(share).collect();
        over.store(true, Ordering::Relaxed);
        shares
    });
    handle.abort();
    server.join();
    Estimate::of(shares)
}

fn come_and_go(address: SocketAddr) -> io::Result<()> {
    let mut client = TcpStream::connect(address)?;
    // No port shall be left in TIME_WAIT.
    SockRef::from(&client).set_linger(Some(Duration::ZERO))?;
    client.write_all(&[1; 512])?;
    client.read_exact(&mut [0; 512])
}

const SAMPLES_MAX: usize = 21;
