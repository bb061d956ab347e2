//! The connections of one client thread to one server, in one epoll set, and
//! the loop that keeps them busy for a slice of time.
//!
//! Per request it makes one `recv`, one comparison, one record in a histogram, and a
//! share of an `epoll_wait`, of a clock read and of the system call that sends the
//! requests. It allocates once per slice and never per request.
//!
//! First all replies that a wait has found are received, then the next requests of
//! all connections that got one are sent, by one system call where there is an
//! `io_uring`. Either costs about a tenth less than a send after each reply, and that is what
//! makes the clients as cheap as a server can be.
//! They have to be: a server that is faster than its clients is fed request by
//! request, and costs up to a fifth more for each than under full load.
//!
//! In a closed loop the next request of a connection is due when the wait that found
//! its reply returned, and its latency counts from then, so that what the client
//! does with the others of the batch is not left out: the mean latency is always the
//! number of connections over the requests per second. In an open loop a request
//! is due when it was planned, whether or not a connection was free then; those that
//! could not be sent before the end of the slice count with the time that they have
//! waited, so that a server that stands still cannot hide it.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::epoll::Event;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::connection::Connection;
use super::fault::{Fault, Faults};
use super::idle;
use super::lane::{Lane, Pace};
use super::latencies::Latencies;
use super::sockets::{IDLE, Sockets, WATCHDOG};
use crate::workload::{Kind, Workload};

/// Connections of one thread to one server.
#[derive(Debug)]
pub struct Fleet {
    sockets: Sockets,
    connections: Vec<Connection>,
    /// Those that only sit there.
    _idle: Vec<TcpStream>,
    lanes: Vec<Lane>,
    /// So many connections are in the first lane, the others in the second.
    first_lane: usize,
    /// What has begun and is to be sent.
    dirty: Vec<usize>,
    /// What came of sending that.
    outcomes: Vec<(usize, io::Result<usize>)>,
    lost: Vec<usize>,
    pipeline: usize,
    rate: Option<f64>,
    /// Whether a connection may have to wait for its first reply for ever.
    may_wait: bool,
    /// Connections that wait so.
    waiting: usize,
    /// Connections that the server closed instead.
    refused: u64,
    latencies: Latencies,
    faults: Faults,
}

/// What a slice came to; [`Fleet::latencies`] and [`Fleet::take_faults`] have
/// the rest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tally {
    /// Requests that got the right reply.
    pub requests: u64,
    /// Requests that were planned for the slice and could not be sent in it.
    pub unsent: u64,
    /// Connections that wait for the first reply of all.
    pub waiting: usize,
    /// Connections that the server closed instead, where it is full.
    pub refused: u64,
    /// From the first request to the last reply, and no less than the slice in an
    /// open loop.
    pub elapsed: Duration,
    /// CPU time of this thread.
    pub cpu: Duration,
}

/// The slice under way.
struct Run {
    begun: Instant,
    deadline: Instant,
    last_reply: Instant,
    /// How often the watchdog has looked since then.
    looks: u32,
    in_flight: usize,
    requests: u64,
}

impl Fleet {
    /// Opens the connections of the workload. One that fails is tried again
    /// when a slice begins, and is a lost request if it fails then.
    ///
    /// # Errors
    /// When the kernel refuses what every fleet needs, such as a descriptor; when the
    /// server's HTTP cannot be understood, or it has no room for idle connections.
    pub fn connect(address: SocketAddr, workload: &Workload) -> io::Result<Self> {
        let mut sockets = Sockets::new(address, workload)?;
        let (count, pipeline) = (workload.connections, workload.pipeline);
        let mut connections: Vec<_> = (0..count).map(|key| Connection::new(key, pipeline)).collect();
        for connection in &mut connections {
            // Whoever is still closed is opened again, and counted, by the next slice.
            let _ = sockets.open_if_needed(connection);
        }
        let request = sockets.rules.pattern.at(0, sockets.rules.request_bytes);
        let idle = idle::open(workload.idle, &mut sockets.dialer, request, &sockets.poll, IDLE)?;
        let first_lane = if workload.uneven && count > 1 { (count / BUSY_ONE_OF).max(1) } else { count };
        let mut lanes = vec![Lane::new(count * pipeline, Pace::AtOnce)];
        if first_lane < count {
            lanes.push(Lane::new(count * pipeline, Pace::Credits(0)));
        }
        let mut fleet = Self {
            sockets,
            connections,
            _idle: idle,
            lanes,
            first_lane,
            dirty: Vec::with_capacity(count),
            outcomes: Vec::with_capacity(count),
            lost: Vec::with_capacity(count),
            pipeline,
            rate: workload.rate,
            may_wait: workload.kind == Kind::Saturation,
            waiting: 0,
            refused: 0,
            latencies: Latencies::of(workload),
            faults: Faults::default(),
        };
        (0..count).for_each(|key| fleet.put(key, pipeline));
        Ok(fleet)
    }

    /// From now on so many requests are sent per second; without a rate, each
    /// reply is answered by the next request.
    pub const fn set_rate(&mut self, rate: Option<f64>) {
        self.rate = rate;
    }

    /// Keeps the connections busy for so long, then waits for the replies under way,
    /// so that the server has nothing left to do.
    ///
    /// # Errors
    /// When the epoll set fails, which is no fault of the server.
    pub fn run(&mut self, duration: Duration) -> io::Result<Tally> {
        self.latencies.reset();
        let cpu = thread_cpu_time();
        let begun = Instant::now();
        let deadline = begun + duration;
        let mut run = Run { begun, deadline, last_reply: begun, looks: 0, in_flight: 0, requests: 0 };
        self.sockets.watch_again_in(WATCHDOG_INTERVAL)?;
        self.set_paces(begun);
        self.forgive_the_lost();
        self.begin_due(begun, &mut run)?;
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        while !self.is_over(&run) {
            self.sockets.wait(&mut events, self.patience(&run))?;
            let now = Instant::now();
            for event in events.drain(..) {
                self.handle(event, now, &mut run)?;
            }
            if now < run.deadline {
                self.begin_due(now, &mut run)?;
            }
        }
        self.sockets.watch_again_in(Duration::ZERO)?;
        Ok(self.tally(&run, thread_cpu_time().saturating_sub(cpu)))
    }

    /// From when each request of the last slice was due to the end of its reply,
    /// in nanoseconds.
    #[must_use]
    pub const fn latencies(&self) -> &Histogram<u64> {
        self.latencies.all()
    }

    /// The same for each endpoint that was asked for; empty if there are none.
    #[must_use]
    pub fn latencies_by_endpoint(&self) -> &[Histogram<u64>] {
        self.latencies.by_endpoint()
    }

    /// What has been lost since this was last asked.
    pub fn take_faults(&mut self) -> Faults {
        std::mem::take(&mut self.faults)
    }

    fn set_paces(&mut self, begun: Instant) {
        let shares: &[f64] = if self.lanes.len() > 1 { &[BUSY_SHARE, 1.0 - BUSY_SHARE] } else { &[1.0] };
        for (index, (lane, share)) in self.lanes.iter_mut().zip(shares).enumerate() {
            lane.set_pace(match self.rate {
                Some(rate) => {
                    let interval = Duration::from_secs_f64(1.0 / (rate * share));
                    // The threads do not send all at the same time.
                    Pace::Planned { next: begun + interval.mul_f64(fastrand::f64()), interval }
                }
                None if index == 0 => Pace::AtOnce,
                None => Pace::Credits(0),
            });
        }
    }

    fn forgive_the_lost(&mut self) {
        for index in 0..self.lost.len() {
            let key = self.lost[index];
            self.connections[key].forgive();
            self.put(key, self.pipeline);
        }
        self.lost.clear();
    }

    fn put(&mut self, key: usize, requests: usize) {
        let lane = usize::from(key >= self.first_lane);
        (0..requests).for_each(|_| self.lanes[lane].put(key));
    }

    fn begin_due(&mut self, now: Instant, run: &mut Run) -> io::Result<()> {
        for lane in 0..self.lanes.len() {
            while let Some((key, due)) = self.lanes[lane].take(now) {
                self.begin(key, due, run);
            }
        }
        self.flush(run)
    }

    /// Sends what has begun, of all connections with one system call if there is a ring.
    fn flush(&mut self, run: &mut Run) -> io::Result<()> {
        let Sockets { rules, batch, .. } = &mut self.sockets;
        let dirty = self.dirty.iter().map(|&key| (key, &self.connections[key]));
        match batch {
            Some(batch) if self.dirty.len() > 1 => {
                let messages = dirty.filter_map(|(key, connection)| {
                    let (socket, bytes) = connection.to_send(rules)?;
                    Some((key, socket.as_fd(), bytes))
                });
                batch.send(messages, &mut self.outcomes)?;
            }
            _ => self.outcomes.extend(dirty.filter_map(|(key, connection)| {
                Some((key, connection.send(rules)?.map_err(io::Error::from)))
            })),
        }
        while let Some(key) = self.dirty.pop() {
            self.connections[key].is_dirty = false;
        }
        while let Some((key, outcome)) = self.outcomes.pop() {
            let outcome = outcome.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
            if let Err(fault) = self.connections[key].sent(outcome, &self.sockets.rules) {
                self.lose(key, fault, run);
            }
        }
        Ok(())
    }

    fn begin(&mut self, key: usize, due: Instant, run: &mut Run) {
        let connection = &mut self.connections[key];
        if let Err(fault) = self.sockets.open_if_needed(connection) {
            return self.lose(key, fault, run);
        }
        connection.begin(due, &self.sockets.rules);
        if self.may_wait && connection.replies() == 0 {
            self.waiting += 1;
        } else {
            run.in_flight += 1;
        }
        if !std::mem::replace(&mut connection.is_dirty, true) {
            self.dirty.push(key);
        }
    }

    fn handle(&mut self, event: Event, now: Instant, run: &mut Run) -> io::Result<()> {
        match event.data.u64() {
            WATCHDOG => return self.look_for_stall(run),
            IDLE => {
                self.faults.count(Fault::Closed, 1);
                return Ok(());
            }
            _ => {}
        }
        let key = usize::try_from(event.data.u64()).map_err(io::Error::other)?;
        let connection = &mut self.connections[key];
        let was_ending = connection.is_ending();
        match self.sockets.advance(connection, event.flags) {
            Ok(progress) => {
                let is_ending = connection.is_ending();
                (0..progress.replies).for_each(|_| self.reply(key, now, run));
                self.connections[key].close_if_used_up(&self.sockets.rules);
                // Until the server has closed, something is under way.
                run.in_flight += usize::from(is_ending && !was_ending);
                run.in_flight -= usize::from(was_ending && !is_ending);
                match (was_ending, is_ending) {
                    (_, true) => {}
                    (true, false) => self.put(key, 1),
                    (false, false) => self.put(key, progress.replies),
                }
            }
            Err(fault) => self.lose(key, fault, run),
        }
        Ok(())
    }

    fn reply(&mut self, key: usize, now: Instant, run: &mut Run) {
        let connection = &mut self.connections[key];
        if self.may_wait && connection.replies() == 0 {
            self.waiting -= 1;
        } else {
            run.in_flight -= 1;
        }
        if let Some(due) = connection.take_due() {
            self.latencies.record(now.saturating_duration_since(due), connection.first_byte());
        }
        run.requests += 1;
        run.last_reply = now;
        run.looks = 0;
        if key < self.first_lane && run.requests.is_multiple_of(BUSY_REQUESTS_PER_CREDIT) {
            self.lanes.iter_mut().for_each(Lane::credit);
        }
    }

    fn is_over(&self, run: &Run) -> bool {
        let is_all_lost = self.lost.len() == self.connections.len();
        let is_planned = self.rate.is_some() && !is_all_lost;
        let goes_on = (is_planned || self.waiting > 0) && Instant::now() < run.deadline;
        run.in_flight == 0 && !goes_on
    }

    /// How long to wait for events at most, where the watchdog is not enough.
    fn patience(&self, run: &Run) -> Option<Duration> {
        if self.rate.is_none() && self.waiting == 0 {
            return None;
        }
        let left = run.deadline.checked_duration_since(Instant::now())?;
        let next_due = self.lanes.iter().filter_map(Lane::next_due).min();
        Some(next_due.map_or(left, |due| left.min(due.saturating_duration_since(Instant::now()))))
    }

    /// Gives the slice up if no reply has come for too long. Looks are counted
    /// and not the time, which may pass while the machine itself stands still.
    fn look_for_stall(&mut self, run: &mut Run) -> io::Result<()> {
        run.looks += u32::from(run.in_flight > 0);
        if run.looks < STALLED_AFTER_LOOKS {
            return self.sockets.watch_again_in(WATCHDOG_INTERVAL);
        }
        for key in 0..self.connections.len() {
            let connection = &self.connections[key];
            let waits = self.may_wait && connection.replies() == 0;
            if (connection.outstanding() > 0 && !waits) || connection.is_ending() {
                self.lose(key, Fault::Stalled, run);
            }
        }
        Ok(())
    }

    fn lose(&mut self, key: usize, fault: Fault, run: &mut Run) {
        let connection = &mut self.connections[key];
        let outstanding = connection.outstanding();
        let waited = self.may_wait && connection.replies() == 0;
        if waited {
            self.waiting -= outstanding;
        } else {
            run.in_flight -= outstanding + usize::from(connection.is_ending());
        }
        if waited && matches!(fault, Fault::Closed | Fault::Broken(_)) {
            self.refused += 1;
        } else {
            self.faults.count(fault, outstanding.max(1) as u64);
        }
        connection.lose();
        self.lanes.iter_mut().for_each(|lane| lane.remove(key));
        self.lost.push(key);
    }

    fn tally(&mut self, run: &Run, cpu: Duration) -> Tally {
        let mut unsent = 0;
        for late in self.lanes.iter().flat_map(|lane| lane.unsent(run.deadline)) {
            self.latencies.record_unsent(late);
            unsent += 1;
        }
        let is_timed = self.rate.is_some() || self.may_wait;
        let end = if is_timed { run.last_reply.max(run.deadline) } else { run.last_reply };
        Tally {
            requests: run.requests,
            unsent,
            waiting: self.waiting,
            refused: std::mem::take(&mut self.refused),
            elapsed: end - run.begun,
            cpu,
        }
    }
}

/// CPU time of the calling thread, exact to the nanosecond.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// A slice is given up when the watchdog has looked so often without a reply.
pub(super) const STALLED_AFTER_LOOKS: u32 = 5;
const WATCHDOG_INTERVAL: Duration = Duration::from_secs(1);
const EVENTS_PER_WAIT: usize = 256;
/// One of so many connections is busy when the load is uneven, and sends this share of the requests.
const BUSY_ONE_OF: usize = 10;
const BUSY_SHARE: f64 = 0.9;
const BUSY_REQUESTS_PER_CREDIT: u64 = 9;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that sends back what it receives, on as many connections.
    fn echo(connections: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().take(connections).flatten() {
                thread::spawn(move || {
                    let mut buffer = [0; 4096];
                    while let Ok(count @ 1..) = (&stream).read(&mut buffer) {
                        (&stream).write_all(&buffer[..count]).unwrap();
                    }
                });
            }
        });
        address
    }

    #[test]
    fn requests_are_sent_with_and_without_a_ring() {
        let workload = Workload { connections: 8, bytes: 3000, pipeline: 2, ..Workload::default() };
        for has_ring in [true, false] {
            let mut fleet = Fleet::connect(echo(workload.connections), &workload).unwrap();
            if !has_ring {
                fleet.sockets.batch = None;
            }
            assert_eq!(fleet.sockets.batch.is_some(), has_ring);
            let tally = fleet.run(Duration::from_millis(20)).unwrap();
            assert!(tally.requests >= 16, "{tally:?}");
            assert_eq!(fleet.take_faults().total(), 0);
        }
    }
}
