//! Workloads: what the clients do to a server, as a name with parameters.
//!
//! This is what a plan, the command line and a result have in common. `options`
//! checks what a user wrote and fills in the rest; [`mix`] has the endpoints of
//! `work`; [`service`] is what a server must do for a workload. How the
//! clients do it is in [`generator`](crate::generator).

mod kind;
pub mod mix;
mod options;
pub mod service;

use serde::{Deserialize, Serialize};

pub use kind::{Closes, Direction, Kind};
pub use mix::Mix;
pub use options::{WorkloadError, WorkloadOptions};
pub use service::Service;

/// What the clients do; made from [`WorkloadOptions`], so that it is always one
/// that can be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WorkloadOptions", into = "WorkloadOptions")]
#[non_exhaustive]
pub struct Workload {
    /// Its name.
    pub kind: Kind,
    /// Connections that send requests.
    pub connections: usize,
    /// Bytes of a request and of its reply; for `stream` of the large one of the
    /// two, for `http` of the body that our own servers reply with.
    pub bytes: usize,
    /// Requests that are under way on a connection at a time.
    pub pipeline: usize,
    /// A connection is closed and opened again after so many requests; 0 for
    /// never. The time to connect is part of the latency of the first.
    pub requests_per_connection: u64,
    /// Who closes a connection first.
    pub closes: Closes,
    /// Connections that are open and send nothing, besides the others.
    pub idle: usize,
    /// Whether a tenth of the connections sends nine tenths of the requests.
    pub uneven: bool,
    /// Which endpoints are asked for.
    pub mix: Mix,
    /// Which way the large transfers go.
    pub direction: Direction,
    /// The path of an HTTP request.
    pub path: String,
    /// Requests per second that are sent whether or not replies come, over all
    /// connections; without it, each reply is answered by the next request.
    pub rate: Option<f64>,
    /// What the bytes of the requests are made from.
    pub seed: u64,
}

impl Workload {
    /// The workload of that name, with its usual parameters.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        let usual = Self {
            kind,
            connections: 64,
            bytes: 512,
            pipeline: 1,
            requests_per_connection: 0,
            closes: Closes::Client,
            idle: 0,
            uneven: false,
            mix: Mix::Mixed,
            direction: Direction::Both,
            path: "/".to_owned(),
            rate: None,
            seed: 0,
        };
        match kind {
            Kind::Echo | Kind::Saturation | Kind::Http => usual,
            Kind::Churn => Self { requests_per_connection: 1, ..usual },
            Kind::Skew => Self { connections: 20, uneven: true, ..usual },
            Kind::Work => Self { connections: 500, bytes: 128, ..usual },
            Kind::Idle => Self { connections: 16, idle: 4000, ..usual },
            Kind::Stream => Self { connections: 4, bytes: 4 * 1024 * 1024, ..usual },
        }
    }

    /// All connections that a server has at a time.
    #[must_use]
    pub const fn sockets(&self) -> usize {
        self.connections + self.idle
    }

    /// How many connections a worker may serve at a time, where the user does
    /// not say: for `saturation`, so few that five of eight have to wait.
    #[must_use]
    pub fn limit(&self, workers: usize) -> Option<u32> {
        let slots = (self.connections * 3 / 8 / workers.max(1)).max(1);
        (self.kind == Kind::Saturation).then(|| u32::try_from(slots).unwrap_or(u32::MAX))
    }

    /// What the server has to do.
    #[must_use]
    pub fn service(&self) -> Service {
        let bytes = self.bytes;
        match (self.kind, self.direction) {
            (Kind::Work, _) => Service::Work { bytes, mix: self.mix },
            (Kind::Http, _) => Service::Http { bytes },
            (Kind::Stream, Direction::Up) => {
                Service::Transfer { request_bytes: bytes, reply_bytes: SMALL_BYTES }
            }
            (Kind::Stream, Direction::Down) => {
                Service::Transfer { request_bytes: SMALL_BYTES, reply_bytes: bytes }
            }
            (Kind::Churn, _) if self.closes == Closes::Server => {
                let requests = usize::try_from(self.requests_per_connection).unwrap_or(usize::MAX);
                Service::EchoOnce { bytes: bytes.saturating_mul(requests) }
            }
            _ => Service::Echo,
        }
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self::of(Kind::Echo)
    }
}

/// The small one of a request and its reply, when the other one is large.
const SMALL_BYTES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saturation_leaves_three_of_eight_connections_a_slot() {
        let workload = Workload::of(Kind::Saturation);
        assert_eq!(workload.limit(2), Some(12));
        assert_eq!(Workload::of(Kind::Echo).limit(2), None);
    }

    #[test]
    fn a_server_is_told_to_close_after_the_requests_of_a_connection() {
        let mut churn = Workload::of(Kind::Churn);
        assert_eq!(churn.service(), Service::Echo);
        churn.closes = Closes::Server;
        churn.requests_per_connection = 3;
        assert_eq!(churn.service(), Service::EchoOnce { bytes: 3 * 512 });
    }
}
