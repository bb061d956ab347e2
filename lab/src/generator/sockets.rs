//! What the connections of a fleet share: the epoll set and its watchdog, the
//! dialer, the rules of their exchanges, a buffer.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use corepool_lab_ring::Batch;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::connection::{Connection, Progress, Rules};
use super::dialer::Dialer;
use super::fault::Fault;
use super::http;
use super::pattern::Pattern;
use super::reply::Expected;
use crate::workload::{Closes, Kind, Service, Workload};

#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) poll: OwnedFd,
    /// A timer that ends a wait now and then, so that no wait needs a timeout.
    watchdog: OwnedFd,
    pub(super) dialer: Dialer,
    pub(super) rules: Rules,
    /// Sends the requests of many connections at once; `None` where there is no `io_uring`.
    pub(super) batch: Option<Batch>,
    buffer: Vec<u8>,
}

impl Sockets {
    pub(super) fn new(address: SocketAddr, workload: &Workload) -> io::Result<Self> {
        let poll = epoll::create(CreateFlags::CLOEXEC)?;
        let watchdog =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let data = EventData::new_u64(WATCHDOG);
        epoll::add(&poll, &watchdog, data, EventFlags::IN | EventFlags::ET)?;
        let many = workload.requests_per_connection > 0 || workload.sockets() > SOCKETS_OF_ONE_ADDRESS;
        Ok(Self {
            poll,
            watchdog,
            dialer: Dialer::new(address, many),
            rules: rules(address, workload)?,
            batch: Batch::new(workload.connections).ok(),
            buffer: vec![0; RECEIVE_BUFFER_BYTES],
        })
    }

    /// Opens a connection if it is not open, or has had its share of requests.
    pub(super) fn open_if_needed(&mut self, connection: &mut Connection) -> Result<(), Fault> {
        match connection.is_to_be_opened(&self.rules) {
            true => connection.open(&mut self.dialer, &self.poll, &self.rules),
            false => Ok(()),
        }
    }

    pub(super) fn advance(
        &mut self,
        connection: &mut Connection,
        events: EventFlags,
    ) -> Result<Progress, Fault> {
        connection.advance(events, &self.rules, &mut self.buffer)
    }

    /// Waits for events, or for so long.
    pub(super) fn wait(&self, events: &mut Vec<Event>, time: Option<Duration>) -> io::Result<()> {
        let time = time.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        match epoll::wait(&self.poll, spare_capacity(events), time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next wait ends after so long at the latest; zero for never.
    pub(super) fn watch_again_in(&self, time: Duration) -> io::Result<()> {
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

fn rules(address: SocketAddr, workload: &Workload) -> io::Result<Rules> {
    let (bytes, pipeline) = (workload.bytes, workload.pipeline);
    let (request_bytes, pattern, expected) = match workload.service() {
        Service::Http { .. } => {
            let request = http::request(address, &workload.path);
            let pattern = Pattern::repeated(&request, request.len() * pipeline);
            (request.len(), pattern, Expected::http(address, &request)?)
        }
        Service::Transfer { request_bytes, reply_bytes } => {
            let pattern = Pattern::random(request_bytes, pipeline, workload.seed);
            (request_bytes, pattern, Expected::Transfer { bytes: reply_bytes })
        }
        _ => (bytes, Pattern::random(bytes, pipeline, workload.seed), Expected::Echo { bytes }),
    };
    Ok(Rules {
        pattern,
        request_bytes,
        expected,
        requests_per_connection: workload.requests_per_connection,
        server_closes: workload.kind == Kind::Churn && workload.closes == Closes::Server,
        resets: workload.kind == Kind::Churn && workload.closes == Closes::Reset,
    })
}

/// The key of the watchdog's events.
pub(super) const WATCHDOG: u64 = u64::MAX;
/// The key of the events of idle connections.
pub(super) const IDLE: u64 = u64::MAX - 1;
/// As many ports as one address surely has for its connections to another.
const SOCKETS_OF_ONE_ADDRESS: usize = 20_000;
const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
