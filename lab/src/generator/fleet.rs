//! The connections of one client thread to one server, in one epoll set, and
//! the loop that keeps a request in flight on each of them for a slice of time.
//!
//! Per request it makes one `send`, one `recv`, one comparison, one record in a
//! histogram, and a share of an `epoll_wait` and of a clock read. It allocates
//! once per slice and never per request.
//!
//! First all replies that a wait has found are received, then all connections
//! that got one send their next request. That costs a tenth less than answering
//! each reply at once, and it is what makes the clients cheaper than a server.
//! They have to be: a server that is faster than its clients is fed request by
//! request, and costs up to a fifth more for each than under full load.
//!
//! The next request of a connection is due when the wait that found its reply
//! returned, and its latency counts from then, so that what the client does
//! with the others of the batch is not left out: the mean latency is always the
//! number of connections over the requests per second.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use super::connection::{Connection, Progress};
use super::dialer::Dialer;
use super::fault::{Fault, Faults};
use super::latencies;
use super::pattern::Pattern;
use crate::workload::Workload;

/// Connections of one thread to one server.
#[derive(Debug)]
pub struct Fleet {
    sockets: Sockets,
    connections: Vec<Connection>,
    /// The connections that are to send their next request.
    due: Vec<usize>,
    latencies: Histogram<u64>,
    faults: Faults,
}

/// What a slice came to; [`Fleet::latencies`] and [`Fleet::take_faults`] have
/// the rest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tally {
    /// Requests that got the right reply.
    pub requests: u64,
    /// From the first request to the last reply.
    pub elapsed: Duration,
    /// CPU time of this thread.
    pub cpu: Duration,
}

/// What all connections of a fleet share.
#[derive(Debug)]
struct Sockets {
    poll: OwnedFd,
    /// A timer that ends a wait now and then, so that no wait needs a timeout.
    watchdog: OwnedFd,
    dialer: Dialer,
    pattern: Pattern,
    requests_per_connection: u64,
    buffer: Vec<u8>,
}

/// The slice under way.
struct Run {
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
    /// When the kernel refuses what every fleet needs, such as a descriptor.
    pub fn connect(address: SocketAddr, workload: &Workload) -> io::Result<Self> {
        let now = Instant::now();
        let mut sockets = Sockets::new(address, workload)?;
        let mut connections: Vec<_> =
            (0..workload.connections).map(|key| Connection::new(key, now)).collect();
        for connection in &mut connections {
            // Whoever is still closed is opened again, and counted, by the next slice.
            let _ = connection.open(&mut sockets.dialer, &sockets.poll);
        }
        Ok(Self {
            sockets,
            connections,
            due: Vec::with_capacity(workload.connections),
            latencies: latencies(),
            faults: Faults::default(),
        })
    }

    /// Keeps a request in flight on every connection for so long, then waits
    /// for the replies under way, so that the server has nothing left to do.
    ///
    /// # Errors
    /// When the epoll set fails, which is no fault of the server.
    pub fn run(&mut self, duration: Duration) -> io::Result<Tally> {
        self.latencies.reset();
        let cpu = thread_cpu_time();
        let begun = Instant::now();
        let mut run =
            Run { deadline: begun + duration, last_reply: begun, looks: 0, in_flight: 0, requests: 0 };
        self.sockets.watch_again_in(WATCHDOG_INTERVAL)?;
        self.due.extend(0..self.connections.len());
        self.begin_due(begun, &mut run);
        let mut events = Vec::with_capacity(EVENTS_PER_WAIT);
        while run.in_flight > 0 {
            match epoll::wait(&self.sockets.poll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let now = Instant::now();
            for event in events.drain(..) {
                self.handle(event, now, &mut run)?;
            }
            self.begin_due(now, &mut run);
        }
        self.sockets.watch_again_in(Duration::ZERO)?;
        Ok(Tally {
            requests: run.requests,
            elapsed: run.last_reply - begun,
            cpu: thread_cpu_time().saturating_sub(cpu),
        })
    }

    /// From when each request of the last slice was due to the end of its reply,
    /// in nanoseconds.
    #[must_use]
    pub const fn latencies(&self) -> &Histogram<u64> {
        &self.latencies
    }

    /// What has been lost since this was last asked.
    pub fn take_faults(&mut self) -> Faults {
        std::mem::take(&mut self.faults)
    }

    fn begin_due(&mut self, now: Instant, run: &mut Run) {
        for index in 0..self.due.len() {
            let key = self.due[index];
            match self.sockets.begin(&mut self.connections[key], now) {
                Ok(()) => run.in_flight += 1,
                Err(fault) => self.lose(key, fault),
            }
        }
        self.due.clear();
    }

    fn handle(&mut self, event: Event, now: Instant, run: &mut Run) -> io::Result<()> {
        if event.data.u64() == WATCHDOG {
            return self.look_for_stall(run);
        }
        let key = usize::try_from(event.data.u64()).map_err(io::Error::other)?;
        let connection = &mut self.connections[key];
        let was_exchanging = connection.is_exchanging();
        match self.sockets.advance(connection, event.flags) {
            Ok(Progress::Waiting) => {}
            Ok(Progress::Replied { due }) => {
                let latency = now.saturating_duration_since(due).as_nanos();
                self.latencies.saturating_record(u64::try_from(latency).unwrap_or(u64::MAX));
                run.requests += 1;
                run.last_reply = now;
                run.looks = 0;
                run.in_flight -= 1;
                if now < run.deadline {
                    self.due.push(key);
                }
            }
            Err(fault) => {
                run.in_flight -= usize::from(was_exchanging);
                self.lose(key, fault);
            }
        }
        Ok(())
    }

    /// Gives the slice up if no reply has come for too long. Looks are counted
    /// and not the time, which may pass while the machine itself stands still.
    fn look_for_stall(&mut self, run: &mut Run) -> io::Result<()> {
        run.looks += 1;
        if run.looks < STALLED_AFTER_LOOKS {
            return self.sockets.watch_again_in(WATCHDOG_INTERVAL);
        }
        for key in 0..self.connections.len() {
            if self.connections[key].is_exchanging() {
                self.lose(key, Fault::Stalled);
            }
        }
        self.due.clear();
        run.in_flight = 0;
        Ok(())
    }

    fn lose(&mut self, key: usize, fault: Fault) {
        self.faults.count(fault);
        self.connections[key].close();
    }
}

impl Sockets {
    fn new(address: SocketAddr, workload: &Workload) -> io::Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        let watchdog =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let data = EventData::new_u64(WATCHDOG);
        epoll::add(&poll, &watchdog, data, EventFlags::IN | EventFlags::ET)?;
        Ok(Self {
            poll,
            watchdog,
            dialer: Dialer::new(address, workload.requests_per_connection > 0),
            pattern: Pattern::new(workload.bytes, workload.seed),
            requests_per_connection: workload.requests_per_connection,
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
        })
    }

    /// Begins a request, on a new connection if this one has had its share.
    fn begin(&mut self, connection: &mut Connection, now: Instant) -> Result<(), Fault> {
        let spent = self.requests_per_connection > 0 && connection.requests() >= self.requests_per_connection;
        if spent || connection.is_closed() {
            connection.open(&mut self.dialer, &self.poll)?;
        }
        connection.begin(now, &self.pattern)
    }

    fn advance(&mut self, connection: &mut Connection, events: EventFlags) -> Result<Progress, Fault> {
        connection.advance(events, &self.pattern, &mut self.buffer)
    }

    /// The next wait ends after so long at the latest; zero for never.
    fn watch_again_in(&self, time: Duration) -> io::Result<()> {
        let timer = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec {
                tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.watchdog, TimerfdTimerFlags::empty(), &timer)?;
        Ok(())
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
const WATCHDOG: u64 = u64::MAX;
const EVENTS_PER_WAIT: usize = 256;
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
