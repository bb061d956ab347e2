//! What the lab's clients cost beside the simplest ones that there can be: a bare epoll loop in their place, which
//! sends back whatever it receives, looks at no byte of it and reads no clock for a request. Both load the same
//! server from the same core, slice by slice.
//!
//! `cargo bench -p corepool-lab --bench generator -- epoll tokio compio monoio`; under `cargo test` it runs tiny.
//! Prints, for each server, CPU time per request of one over the other, with 95 % intervals.

#![expect(clippy::print_stdout, reason = "it prints what it finds")]

use std::env;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use corepool_lab::comparison::pair;
use corepool_lab::cores::on_core;
use corepool_lab::generator::Clients;
use corepool_lab::plan::{Plan, PlanOptions};
use corepool_lab::servers::Server;
use corepool_lab::statistics::{Resamples, estimate};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::sockopt;
use rustix::time::{ClockId, clock_gettime};

/// How much is run.
#[derive(Clone, Copy)]
struct Size {
    restarts: usize,
    pairs: usize,
    slice: Duration,
}

const WHOLE: Size = Size { restarts: 8, pairs: 8, slice: Duration::from_millis(300) };
const TINY: Size = Size { restarts: 2, pairs: 2, slice: Duration::from_millis(20) };

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, mut servers): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let size = if flags.iter().any(|flag| flag == "--bench") { WHOLE } else { TINY };
    if servers.is_empty() {
        servers.push("epoll".to_owned());
    }
    println!("{:16} {:>24} {:>24} {:>24}", "server", "lab / bare loop", "lab / server", "bare loop / server");
    for server in servers {
        println!("{server:16} {}", compare(&server, size)?);
    }
    Ok(())
}

/// CPU time per request of a slice, in nanoseconds.
#[derive(Clone, Copy)]
struct Cost {
    clients: f64,
    server: f64,
}

impl Cost {
    fn new(requests: u64, clients: Duration, server: Duration) -> Self {
        let each = |time: Duration| time.as_nanos() as f64 / requests.max(1) as f64;
        Self { clients: each(clients), server: each(server) }
    }
}

fn compare(name: &str, size: Size) -> Result<String, Box<dyn Error>> {
    let mut options = PlanOptions::default();
    options.systems = vec![name.to_owned(); 2];
    let plan = Plan::new(options)?;
    let clients = Clients::start(1, &plan.placement.client_cores, &plan.workload)?;
    let restarts =
        (0..size.restarts).map(|_| restart(&plan, &clients, size)).collect::<Result<Vec<_>, _>>()?;
    let interval = |of: fn(&[Cost; 2]) -> f64| {
        let logarithms: Vec<Vec<_>> =
            restarts.iter().map(|pairs| pairs.iter().map(|pair| of(pair).ln()).collect()).collect();
        let found = estimate(&logarithms, 1, Resamples::Thorough, 1);
        found.map_or_else(String::new, |found| {
            let (low, high) = found.interval_95;
            format!("{:.3} [{low:.3}, {high:.3}]", found.ratio)
        })
    };
    Ok(format!(
        "{:>24} {:>24} {:>24}",
        interval(|[lab, bare]| lab.clients / bare.clients),
        interval(|[lab, _]| lab.clients / lab.server),
        interval(|[_, bare]| bare.clients / bare.server),
    ))
}

/// Starts the server; returns what the lab's clients and the bare ones cost, pair by pair.
fn restart(plan: &Plan, clients: &Clients, size: Size) -> Result<Vec<[Cost; 2]>, Box<dyn Error>> {
    let executable = Path::new(env!("CARGO_BIN_EXE_corepool-lab"));
    let mut server = Server::start(executable, &plan.systems[0].name, &plan.serve(0))?;
    clients.connect(0, server.address())?;
    let bare = Bare::connect(server.address(), plan.workload.connections, plan.workload.bytes)?;
    let core = plan.placement.client_cores.wrapping(0);
    let mut pairs = Vec::new();
    for number in 0..=size.pairs {
        pairs.push(pair(number, |side| -> Result<_, Box<dyn Error>> {
            let before = server.usage()?;
            let (requests, cpu) = match side {
                0 => {
                    let slice = clients.run(0, size.slice)?;
                    (slice.requests, slice.cpu)
                }
                _ => on_core(core, || bare.run(size.slice))?,
            };
            Ok(Cost::new(requests, cpu, server.usage()?.since(&before).cpu))
        })?);
    }
    clients.disconnect()?;
    pairs.remove(0); // it has warmed up
    Ok(pairs)
}

/// Connections that send back whatever they receive.
struct Bare {
    poll: OwnedFd,
    sockets: Vec<TcpStream>,
    bytes: usize,
}

impl Bare {
    fn connect(address: SocketAddr, connections: usize, bytes: usize) -> io::Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        let mut sockets = Vec::new();
        for key in 0..connections as u64 {
            let socket = TcpStream::connect(address)?;
            socket.set_nodelay(true)?;
            sockopt::set_tcp_congestion(&socket, "reno")?; // as the lab's clients do
            epoll::add(&poll, &socket, EventData::new_u64(key), EventFlags::IN)?;
            sockets.push(socket);
        }
        Ok(Self { poll, sockets, bytes })
    }

    /// Requests, and CPU time of this thread.
    fn run(&self, time: Duration) -> io::Result<(u64, Duration)> {
        let begun = clock_gettime(ClockId::ThreadCPUTime);
        let deadline = Instant::now() + time;
        let mut buffer = vec![7; 64 * 1024];
        for mut socket in &self.sockets {
            socket.write_all(&buffer[..self.bytes])?;
        }
        let mut under_way = self.sockets.len() * self.bytes;
        let mut received = 0;
        let mut events = Vec::with_capacity(256);
        while under_way > 0 {
            epoll::wait(&self.poll, spare_capacity(&mut events), None)?;
            let is_over = Instant::now() >= deadline;
            for event in events.drain(..) {
                let mut socket = &self.sockets[event.data.u64() as usize];
                let count = socket.read(&mut buffer)?;
                match count {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    _ if is_over => under_way -= count,
                    _ => socket.write_all(&buffer[..count])?,
                }
                received += count;
            }
        }
        let spent = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime) - begun).unwrap_or_default();
        Ok(((received / self.bytes) as u64, spent))
    }
}
