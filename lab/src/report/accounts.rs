//! What servers and clients used besides: shown as it is, without a ratio.

use super::{Row, SystemResult};

/// One kind of use, with a value for each server of the row.
pub(super) struct Account {
    /// What it is, with the unit.
    pub(super) label: &'static str,
    /// The values, in the order of the plan.
    pub(super) values: Vec<String>,
}

/// What is known of at least one server.
pub(super) fn accounts(row: &Row) -> Vec<Account> {
    let known = KINDS.iter().filter(|kind| row.systems.iter().any(|system| (kind.value)(system).is_some()));
    let account = |kind: &Kind| Account {
        label: kind.label,
        values: row
            .systems
            .iter()
            .map(|system| (kind.value)(system).map_or_else(|| "-".to_owned(), shown))
            .collect(),
    };
    known.map(account).collect()
}

/// What could not be counted on this machine, if anything.
pub(super) fn missing(row: &Row) -> Option<String> {
    let is_unknown = |kind: &&Kind| row.systems.iter().all(|system| (kind.value)(system).is_none());
    let labels: Vec<_> =
        KINDS.iter().filter(|kind| kind.needs_permission).filter(is_unknown).map(|kind| kind.label).collect();
    (!labels.is_empty()).then(|| format!("Cannot be counted on this machine: {}.", labels.join(", ")))
}

struct Kind {
    label: &'static str,
    value: fn(&SystemResult) -> Option<f64>,
    /// Whether the kernel or the machine may keep it from us.
    needs_permission: bool,
}

impl Kind {
    const fn new(label: &'static str, value: fn(&SystemResult) -> Option<f64>) -> Self {
        Self { label, value, needs_permission: false }
    }

    const fn counted(label: &'static str, value: fn(&SystemResult) -> Option<f64>) -> Self {
        Self { label, value, needs_permission: true }
    }
}

/// Three digits that mean something.
fn shown(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

const MIB: f64 = 1024.0 * 1024.0;

const KINDS: [Kind; 21] = [
    Kind::new("server user CPU/request, us", |system| Some(system.server.user_us)),
    Kind::new("server system CPU/request, us", |system| Some(system.server.system_us)),
    Kind::new("client user CPU/request, us", |system| Some(system.clients.user_us)),
    Kind::new("client system CPU/request, us", |system| Some(system.clients.system_us)),
    Kind::new("voluntary switches/request", |system| Some(system.server.voluntary_switches)),
    Kind::new("involuntary switches/request", |system| Some(system.server.involuntary_switches)),
    Kind::new("page faults/request", |system| Some(system.server.minor_faults + system.server.major_faults)),
    Kind::counted("system calls/request", |system| system.server.system_calls),
    Kind::counted("instructions/request", |system| system.server.instructions),
    Kind::counted("cycles/request", |system| system.server.cycles),
    Kind::counted("cache misses/request", |system| system.server.cache_misses),
    Kind::counted("branch misses/request", |system| system.server.branch_misses),
    Kind::new("resident memory, MiB", |system| Some(system.resident_bytes as f64 / MIB)),
    Kind::new("memory/connection, KiB", |system| Some(system.bytes_per_connection / 1024.0)),
    Kind::new("server busy, %", |system| system.server_busy_percent),
    Kind::new("clients busy, %", |system| system.clients_busy_percent),
    Kind::new("requests planned and not sent", |system| (system.unsent > 0).then_some(system.unsent as f64)),
    Kind::new("connections that waited", |system| (system.waiting > 0).then_some(system.waiting as f64)),
    Kind::new("connections refused", |system| (system.refused > 0).then_some(system.refused as f64)),
    Kind::new("highest rate that keeps the latency, /s", |system| {
        system.capacity.as_ref().map(|capacity| capacity.highest_rate.unwrap_or(0.0))
    }),
    Kind::new("sockets in TIME_WAIT", |system| (system.time_wait > 0).then_some(system.time_wait as f64)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_that_mean_something() {
        let values = [0.0, 0.000_012, 0.0123, 1.234, 12.34, 12_345.6].map(shown);
        assert_eq!(values, ["0", "1.2e-5", "0.0123", "1.23", "12.3", "12346"]);
    }
}
