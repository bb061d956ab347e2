//! What every form of output says in the same words: the servers, the load, the
//! machine, numbers and notes.

use std::fmt::Write;

use super::accounts::missing;
use super::{Ratio, Row, SystemResult};
use crate::environment::Machine;
use crate::figures::Figure;
use crate::plan::PlanOptions;

/// `A = tokio (epoll), B = monoio (io_uring)`; with more than two, by name only.
pub(super) fn servers(row: &Row) -> String {
    let system = |(index, system): (usize, &SystemResult)| match row.systems.len() {
        2 => format!("{}= {} ({})", side(row, index), system.name, system.driver),
        _ => format!("{} ({})", system.name, system.driver),
    };
    row.systems.iter().enumerate().map(system).collect::<Vec<_>>().join(", ")
}

/// `A ` or `B ` where there are two servers, which are called that in verdicts.
pub(super) fn side(row: &Row, index: usize) -> &'static str {
    match (row.systems.len(), index) {
        (2, 0) => "A ",
        (2, 1) => "B ",
        _ => "",
    }
}

/// What the clients do and what the servers are told.
pub(super) fn load_of(plan: &PlanOptions) -> String {
    let workload = &plan.workload;
    let mut text = format!("{}: {}", workload.name, count(workload.connections.unwrap_or(0), "connection"));
    if let Some(bytes) = workload.bytes {
        let _ = write!(text, " x {bytes} B");
    }
    let _ = write!(text, ", {}", count(plan.servers.workers, "worker"));
    for (what, value) in parameters(plan) {
        let _ = write!(text, ", {what} {value}");
    }
    text
}

/// What else differs from the usual.
fn parameters(plan: &PlanOptions) -> Vec<(&'static str, String)> {
    let (workload, servers) = (&plan.workload, &plan.servers);
    let all = [
        ("pipeline", workload.pipeline.filter(|&depth| depth > 1).map(|depth| depth.to_string())),
        (
            "requests per connection",
            workload
                .requests_per_connection
                .filter(|&requests| requests > 0)
                .map(|requests| requests.to_string()),
        ),
        ("closed by the", workload.closes.map(|closes| closes.to_string())),
        ("idle", workload.idle.map(|idle| idle.to_string())),
        ("distribution", workload.uneven.filter(|&uneven| uneven).map(|_| "uneven".to_owned())),
        ("mix", workload.mix.map(|mix| mix.to_string())),
        ("direction", workload.direction.map(|direction| direction.to_string())),
        ("path", workload.path.clone()),
        ("rate", workload.rate.map(|rate| format!("{rate}/s"))),
        ("limit", servers.limit.map(|limit| limit.to_string())),
        ("admission", servers.admission.map(|admitted| admitted.to_string())),
        ("scope", servers.scope.clone()),
        ("policy", servers.policy.map(|policy| policy.to_string())),
        ("overflow", servers.overflow.map(|policy| policy.to_string())),
    ];
    all.into_iter().filter_map(|(what, value)| Some((what, value?))).collect()
}

/// How much was measured.
pub(super) fn statistics(row: &Row) -> String {
    let plan = &row.environment.plan.statistics;
    let restarts = restarts(row);
    let mut text = format!(
        "{} pairs of {} x {} s, {}, seed {}",
        row.samples.len(),
        row.systems.len(),
        plan.slice_seconds,
        count(restarts, "restart"),
        row.environment.seed,
    );
    if let Some(precision) = plan.until {
        let _ = write!(text, ", until {precision}");
    }
    text
}

fn restarts(row: &Row) -> usize {
    row.samples.last().map_or(0, |sample| sample.restart + 1)
}

/// The software and the machine.
pub(super) fn machine(machine: &Machine) -> String {
    let versions: Vec<_> =
        machine.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    format!(
        "{}{}\n{}, {}, Linux {}, TCP {}",
        versions.join(", "),
        machine.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {commit}")),
        machine.cpu,
        count(machine.cores.len(), "core"),
        machine.kernel,
        machine.congestion_control,
    )
}

/// What disturbed the run, as far as that is known.
pub(super) fn disturbance(row: &Row) -> String {
    let disturbance = row.environment.disturbance;
    let shares = [("steal", disturbance.steal_percent), ("other programs", disturbance.others_percent)];
    let known = shares.into_iter().filter_map(|(what, percent)| Some(format!("; {what} {:.1} %", percent?)));
    known.collect()
}

/// Why the figures may not be what they seem.
pub(super) fn warnings(row: &Row) -> Vec<String> {
    let environment = &row.environment;
    environment.placement.warnings.iter().cloned().chain(environment.disturbance.warnings()).collect()
}

/// What a reader must know besides the figures.
pub(super) fn notes(row: &Row) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(failure) = &row.failure {
        notes.push(format!("FAILED: {failure}"));
    }
    let restarts = restarts(row);
    if restarts < RESTARTS_LEAST && row.failure.is_none() {
        notes.push(format!(
            "Only {}: how processes of one server differ is hardly known; take at least {RESTARTS_LEAST}.",
            count(restarts, "restart")
        ));
    }
    notes.extend(noise(row));
    notes.extend(clients(row));
    notes.extend(missing(row));
    notes.extend(how_to_read(row));
    notes
}

/// What the numbers are.
pub(super) fn how_to_read(row: &Row) -> Vec<String> {
    let mut notes = vec![
        "A ratio is the median over the pairs; a difference is claimed only where the 99 % \
         interval excludes 1."
            .to_owned(),
    ];
    if row.systems.len() > 2 {
        notes.push(format!(
            "The intervals are wide enough that all {} comparisons hold at once.",
            row.systems.len() - 1
        ));
    }
    notes
}

/// How far the first server is from itself.
fn noise(row: &Row) -> Option<String> {
    let ratio = row.noise.as_ref()?.get(Figure::PRIMARY.key())?;
    let (low, median, high) = ratio.bounds()?;
    let warning = match ratio.finding {
        super::Finding::Different => "; it DIFFERS FROM ITSELF: something disturbs this machine",
        _ => "",
    };
    Some(format!(
        "Noise: {} against itself is {median:.3} [{low:.3}, {high:.3}] in {}{warning}.",
        row.systems.first()?.name,
        Figure::PRIMARY.label(),
    ))
}

/// What the clients cost, next to the servers.
fn clients(row: &Row) -> Vec<String> {
    let cost =
        |system: &SystemResult| Some(system.figure(Figure::ClientCpu)? / system.figure(Figure::ServerCpu)?);
    let costs = row.systems.iter().filter_map(|system| Some((&system.name, cost(system)?)));
    let costs: Vec<_> = costs.collect();
    if costs.is_empty() {
        return Vec::new();
    }
    let told: Vec<_> = costs.iter().map(|(name, cost)| format!("{cost:.2} of what {name} costs")).collect();
    let mut notes = vec![format!("Per request the clients cost {}.", told.join(" and "))];
    let limited = row.systems.iter().filter(|system| system.clients_are_the_limit);
    let limited: Vec<_> = limited.map(|system| system.name.as_str()).collect();
    if !limited.is_empty() {
        notes.push(format!(
            "THE CLIENTS ARE THE LIMIT of {}: its rate and latency are theirs.",
            limited.join(", ")
        ));
    }
    notes
}

pub(super) fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn shown(figure: Figure, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| figure.show(value))
}

pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

pub(super) fn interval(ratio: Option<&Ratio>) -> String {
    match ratio.map(|ratio| (ratio.low, ratio.high)) {
        Some((Some(low), Some(high))) if high < 100.0 => format!("{low:.3} .. {high:.3}"),
        Some((Some(low), _)) => format!("{low:.3} .. any"),
        _ => "-".to_owned(),
    }
}

pub(super) fn lost(system: &SystemResult) -> String {
    match system.failed_slices {
        0 => system.errors.to_string(),
        failed => format!("{} in {failed} of {} slices", system.errors, system.slices),
    }
}

/// With fewer restarts an interval rests on too few processes.
const RESTARTS_LEAST: usize = 6;
