//! Who starves when there are more clients than permits: 256 persistent clients, 8 permits on two workers, a
//! handler that holds its permit for a millisecond. And what the permits cost when they are no bottleneck.
//!
//! `cargo bench --bench turns --all-features`; under `cargo test` it runs tiny. Prints one row for each backend and
//! scope.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "it prints what it finds")]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corepool::overflow::Queue;
use corepool::{Backend, Connection, Handler, Scope, Server};

/// Holds a permit for a while for each byte.
#[derive(Debug, Clone, Copy)]
struct Work(Duration);

impl<B: Backend> Handler<B> for Work {
    async fn serve(&self, mut conn: Connection<B>) -> io::Result<()> {
        while let Some(request) = conn.request().await? {
            let worker = u8::try_from(conn.worker()).unwrap_or(u8::MAX);
            let Some(chunk) = conn.recv().await? else { break };
            if !self.0.is_zero() {
                B::sleep(self.0).await;
            }
            let mut reply = conn.buffer();
            reply.extend_from_slice(&chunk);
            reply.extend_from_slice(&[worker]);
            let sent = conn.send(reply);
            drop(request); // its work is done; to wait for the kernel needs no permit
            sent.await?;
        }
        Ok(())
    }
}

/// What one client has seen.
struct Seen {
    worker: Option<u8>,
    requests: u64,
}

fn client(address: std::net::SocketAddr, over: &AtomicBool) -> io::Result<Seen> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_millis(50)))?;
    let mut seen = Seen { worker: None, requests: 0 };
    while !over.load(Ordering::Relaxed) {
        stream.write_all(b"?")?;
        let mut reply = [0; 2];
        while let Err(error) = stream.read_exact(&mut reply) {
            if error.kind() != io::ErrorKind::WouldBlock || over.load(Ordering::Relaxed) {
                return Ok(seen);
            }
        }
        seen.worker = Some(reply[1]);
        seen.requests += 1;
    }
    Ok(seen)
}

struct Scale {
    clients: usize,
    time: Duration,
}

fn run(
    backend: &str,
    scope: Scope,
    limit: u32,
    hold: Duration,
    scale: &Scale,
) -> Result<u64, corepool::Error> {
    let queue = Queue::new(4096, Duration::from_secs(3600));
    let server = Server::new().listen("127.0.0.1:0").workers(2).backend(backend).scope(scope);
    let server = server.limit(limit).overflow(queue).start(move |_worker| Work(hold))?;
    let (handle, over) = (server.handle(), AtomicBool::new(false));
    let address = handle.addresses()[0];
    let begun = Instant::now();
    let seen: Vec<Seen> = thread::scope(|threads| {
        let clients: Vec<_> = (0..scale.clients).map(|_| threads.spawn(|| client(address, &over))).collect();
        thread::sleep(scale.time);
        over.store(true, Ordering::Relaxed);
        clients.into_iter().filter_map(|client| client.join().ok()?.ok()).collect()
    });
    let wall = begun.elapsed();
    let stats = handle.stats();
    handle.abort();
    server.join();
    let requests: u64 = seen.iter().map(|client| client.requests).sum();
    if hold.is_zero() {
        return Ok(requests);
    }
    let starved = seen.iter().filter(|client| client.requests == 0).count();
    let spread = (0..2).map(|worker| {
        let of = seen.iter().filter(|client| client.worker == Some(worker)).map(|client| client.requests);
        of.clone().max().unwrap_or(0) as f64 / of.min().unwrap_or(0).max(1) as f64
    });
    let spread = spread.fold(0.0, f64::max);
    let held: f64 = stats
        .workers
        .iter()
        .map(|worker| worker.times.service.mean_us * worker.times.service.count as f64 / 1e6)
        .sum();
    let occupancy = match scope {
        Scope::Request => format!("{:.2} of {}", held / wall.as_secs_f64(), limit * 2),
        _ => "-".into(),
    };
    let wait = |pick: fn(&corepool::WorkerStats) -> u64| {
        stats.workers.iter().map(pick).max().unwrap_or(0) as f64 / 1e3
    };
    println!(
        "{backend:>7} {scope:>10}: {:>6.0} requests/s, {starved} of {} clients starved, max/min per client {spread:.2}, \
         permits held {occupancy}, wait p50 {:.1} ms, longest {:.1} ms",
        requests as f64 / wall.as_secs_f64(),
        seen.len(),
        wait(|worker| worker.times.queue_wait.p50_us),
        wait(|worker| worker.times.queue_wait.max_us),
    );
    Ok(requests)
}

fn main() -> Result<(), corepool::Error> {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let scale = if is_bench {
        Scale { clients: 256, time: Duration::from_secs(5) }
    } else {
        Scale { clients: 12, time: Duration::from_millis(200) }
    };
    for backend in corepool::compiled_in() {
        for scope in [Scope::Connection, Scope::Request] {
            run(backend, scope, 4, Duration::from_millis(1), &scale)?;
        }
        let short = Scale { clients: scale.clients, time: scale.time / 10 };
        let rounds = if is_bench { 10 } else { 1 };
        let mut ratios: Vec<f64> = Vec::new();
        for _ in 0..rounds {
            let limited = run(backend, Scope::Request, 4, Duration::ZERO, &short)?;
            let unlimited = run(backend, Scope::Request, 4096, Duration::ZERO, &short)?;
            ratios.push(limited as f64 / unlimited.max(1) as f64);
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "{backend:>7}       echo: 8 permits give {:.3} of the requests that unlimited ones do (median of {rounds} \
             pairs, {:.3} to {:.3})",
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1]
        );
    }
    Ok(())
}
