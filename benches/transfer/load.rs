//! How often a worker is woken for what others send it, while clients come and go as fast as they can.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use corepool::{Backend, Connection, Handler, Placement, Server};
use procfs::process::Process;
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

/// What happens for each connection that is handed over under load.
#[derive(Debug)]
pub(crate) struct Load {
    /// How often its worker finds something in its mailbox. It is woken for that at most so often: one that is awake
    /// looks without being woken.
    pub(crate) batches: Estimate,
    /// How often a worker sleeps, whatever wakes it.
    pub(crate) sleeps: Estimate,
}

pub(crate) fn of_clients_that_come_and_go<B: Backend>(scale: Scale) -> Load {
    let server = Server::new().listen("127.0.0.1:0").workers(WORKERS).limit(1024).backend(B::NAME);
    let server = server.placement(Placement::AlwaysOther).start(|_worker| Echo).expect("a server");
    let handle = server.handle();
    let (address, over) = (handle.addresses()[0], AtomicBool::new(false));
    let (batches, sleeps) = thread::scope(|threads| {
        for _ in 0..CLIENTS {
            threads.spawn(|| {
                let goes_on = || !over.load(Ordering::Relaxed);
                std::iter::repeat_with(|| come_and_go(address)).take_while(Result::is_ok).all(|_| goes_on())
            });
        }
        let look = || {
            let stats = handle.stats();
            [stats.total(|counts| counts.batches), sleeps(), stats.total(|counts| counts.received)]
        };
        let shares = |_| {
            let before = look();
            thread::sleep(Duration::from_millis(scale.load_ms));
            let after = look();
            let [batches, sleeps, received] = [0, 1, 2].map(|figure| (after[figure] - before[figure]) as f64);
            (batches / received.max(1.0), sleeps / received.max(1.0))
        };
        let shares = (0..scale.samples.min(SAMPLES_MAX)).map(shares).unzip::<_, _, Vec<_>, Vec<_>>();
        over.store(true, Ordering::Relaxed);
        shares
    });
    handle.abort();
    server.join();
    Load { batches: Estimate::of(batches), sleeps: Estimate::of(sleeps) }
}

/// How often the workers of this process have gone to sleep so far.
fn sleeps() -> u64 {
    let tasks = Process::myself().and_then(|process| process.tasks()).expect("procfs");
    let statuses = tasks.filter_map(|task| task.ok()?.status().ok());
    let workers = statuses.filter(|status| status.name.starts_with("corepool-"));
    workers.filter_map(|status| status.voluntary_ctxt_switches).sum()
}

fn come_and_go(address: SocketAddr) -> io::Result<()> {
    let mut client = TcpStream::connect(address)?;
    // No port shall be left in TIME_WAIT.
    SockRef::from(&client).set_linger(Some(Duration::ZERO))?;
    client.write_all(&[1; 512])?;
    client.read_exact(&mut [0; 512])
}

const SAMPLES_MAX: usize = 21;
