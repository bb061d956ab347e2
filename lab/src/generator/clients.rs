//! The client threads: pinned, each with its share of the connections to each
//! server, driven in slices by whoever owns them.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Fleet, Slice};
use crate::accounting::Usage;
use crate::cores::{Cores, pin_current_thread};
use crate::workload::Workload;

/// Client threads; they end when this is dropped.
#[derive(Debug)]
pub struct Clients {
    threads: Vec<Client>,
    connections: usize,
}

#[derive(Debug)]
struct Client {
    commands: Sender<Command>,
    replies: Receiver<io::Result<Slice>>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Command {
    Connect(usize, SocketAddr),
    Run(usize, Duration),
    /// The rate of all threads together, over so many connections.
    SetRate(Option<f64>, usize),
    Disconnect,
}

impl Clients {
    /// Starts one thread per core, at least one and at most as many as there
    /// are connections; without cores they are not pinned.
    ///
    /// # Errors
    /// When a thread cannot be started or pinned.
    pub fn start(threads: usize, cores: &Cores, workload: &Workload) -> io::Result<Self> {
        let count = threads.clamp(1, workload.connections.max(1));
        let threads = (0..count)
            .map(|index| Client::start(cores.wrapping(index), share(workload, index, count)))
            .collect::<io::Result<_>>()?;
        Ok(Self { threads, connections: workload.connections })
    }

    /// How many threads there are.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Opens the connections to the server of that number, in place of those
    /// that it had. The servers of a run are numbered from 0 on.
    ///
    /// # Errors
    /// When the kernel refuses what every fleet needs, such as a descriptor.
    pub fn connect(&self, server: usize, address: SocketAddr) -> io::Result<()> {
        self.all(|| Command::Connect(server, address)).map(drop)
    }

    /// Loads the server of that number for so long, waits for the last replies,
    /// and returns what all threads measured.
    ///
    /// # Errors
    /// When a thread cannot go on, for a reason that is not the server's.
    pub fn run(&self, server: usize, duration: Duration) -> io::Result<Slice> {
        let mut slice = self.all(|| Command::Run(server, duration))?;
        slice.time_wait = time_wait();
        Ok(slice)
    }

    /// From now on so many requests are sent per second, by all threads to one
    /// server; without a rate, each reply is answered by the next request.
    ///
    /// # Errors
    /// When a thread has ended.
    pub fn set_rate(&self, rate: Option<f64>) -> io::Result<()> {
        self.all(|| Command::SetRate(rate, self.connections)).map(drop)
    }

    /// Closes the connections to all servers.
    ///
    /// # Errors
    /// When a thread has ended.
    pub fn disconnect(&self) -> io::Result<()> {
        self.all(|| Command::Disconnect).map(drop)
    }

    fn all(&self, command: impl Fn() -> Command) -> io::Result<Slice> {
        for client in &self.threads {
            client.commands.send(command()).map_err(|_| ended())?;
        }
        let mut whole = Slice::empty();
        for client in &self.threads {
            whole.join(&client.replies.recv().map_err(|_| ended())??);
        }
        Ok(whole)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for Client { commands, thread, .. } in self.threads.drain(..) {
            drop(commands);
            // It has panicked if this fails, and said so itself.
            let _ = thread.join();
        }
    }
}

impl Client {
    fn start(core: Option<usize>, workload: Workload) -> io::Result<Self> {
        let (commands, orders) = mpsc::channel();
        let (answers, replies) = mpsc::channel();
        let thread = thread::Builder::new().name("client".to_owned()).spawn(move || {
            match core.map_or(Ok(()), pin_current_thread) {
                Ok(()) => serve(&workload, &orders, &answers),
                // It goes to whoever sends the first command.
                Err(error) => drop(answers.send(Err(error))),
            }
        })?;
        Ok(Self { commands, replies, thread })
    }
}

fn serve(workload: &Workload, orders: &Receiver<Command>, answers: &Sender<io::Result<Slice>>) {
    let mut fleets = Vec::new();
    while let Ok(command) = orders.recv() {
        if answers.send(obey(command, workload, &mut fleets)).is_err() {
            return;
        }
    }
}

fn obey(command: Command, workload: &Workload, fleets: &mut Vec<Option<Fleet>>) -> io::Result<Slice> {
    match command {
        Command::Connect(server, address) => {
            fleets.resize_with(fleets.len().max(server + 1), || None);
            fleets[server] = Some(Fleet::connect(address, workload)?);
            Ok(Slice::empty())
        }
        Command::Run(server, duration) => match fleets.get_mut(server) {
            Some(Some(fleet)) => slice(fleet, duration),
            _ => Err(io::Error::other("a slice was begun before connecting")),
        },
        Command::SetRate(rate, connections) => {
            let share = workload.connections as f64 / connections as f64;
            fleets.iter_mut().flatten().for_each(|fleet| fleet.set_rate(rate.map(|rate| rate * share)));
            Ok(Slice::empty())
        }
        Command::Disconnect => {
            fleets.clear();
            Ok(Slice::empty())
        }
    }
}

fn slice(fleet: &mut Fleet, duration: Duration) -> io::Result<Slice> {
    let before = Usage::of_this_thread().map_err(io::Error::other)?;
    let tally = fleet.run(duration)?;
    let spent = Usage::of_this_thread().map_err(io::Error::other)?.since(&before);
    Ok(Slice {
        spent,
        unsent: tally.unsent,
        waiting: tally.waiting,
        refused: tally.refused,
        time_wait: 0,
        by_endpoint: fleet.latencies_by_endpoint().to_vec(),
        requests: tally.requests,
        elapsed: tally.elapsed,
        cpu: tally.cpu,
        latencies: fleet.latencies().clone(),
        faults: fleet.take_faults(),
    })
}

/// The part of the connections that one thread has.
fn share(workload: &Workload, index: usize, threads: usize) -> Workload {
    let part = |all: usize| all / threads + usize::from(index < all % threads);
    let connections = part(workload.connections);
    Workload {
        connections,
        idle: part(workload.idle),
        rate: workload.rate.map(|rate| rate * connections as f64 / workload.connections as f64),
        seed: workload.seed.wrapping_add(index as u64),
        ..workload.clone()
    }
}

/// Sockets of this network namespace in TIME_WAIT; zero if the kernel does not tell.
fn time_wait() -> usize {
    let count = |text: String| {
        let line = text.lines().find(|line| line.starts_with("TCP:"))?.to_owned();
        line.split_whitespace().skip_while(|word| *word != "tw").nth(1)?.parse().ok()
    };
    std::fs::read_to_string("/proc/net/sockstat").ok().and_then(count).unwrap_or(0)
}

fn ended() -> io::Error {
    io::Error::other("a client thread has ended unexpectedly")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_share_all_connections_with_bytes_of_their_own() {
        let workload = Workload { connections: 10, rate: Some(100.0), idle: 5, ..Workload::default() };
        let shares: Vec<_> = (0..4).map(|index| share(&workload, index, 4)).collect();
        let counts: Vec<_> = shares.iter().map(|share| share.connections).collect();
        assert_eq!(counts, [3, 3, 2, 2]);
        assert_eq!(shares.iter().map(|share| share.idle).sum::<usize>(), 5);
        assert_eq!(
            shares.iter().map(|share| share.rate.unwrap().round() as u64).collect::<Vec<_>>(),
            [30, 30, 20, 20]
        );
        assert!(shares.windows(2).all(|two| two[0].seed != two[1].seed));
    }
}
