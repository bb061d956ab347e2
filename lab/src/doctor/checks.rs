//! What is to be thought of the facts.

use super::{Check, Facts};

/// Everything that is looked at, in the order in which it is shown.
#[must_use]
pub fn all(facts: &Facts) -> Vec<Check> {
    let checks =
        [ring, memlock, descriptors, backlog, ports, conntrack, cores, quota, smt, governor, quiet, steal];
    checks.into_iter().map(|check| check(facts)).collect()
}

fn ring(facts: &Facts) -> Check {
    match &facts.ring {
        Ok(()) => Check::good("io_uring", "allowed"),
        Err((reason, advice)) => Check::bad("io_uring", reason, advice),
    }
}

fn memlock(facts: &Facts) -> Check {
    const ABOUT: &str = "locked memory";
    let needed = facts.cores.len() as u64 * RING_BYTES;
    match facts.memlock {
        None => Check::good(ABOUT, "unlimited"),
        Some(bytes) if facts.is_root => {
            Check::good(ABOUT, format!("{} KiB, but root may lock more", bytes / KIB))
        }
        Some(bytes) if bytes < needed => Check::bad(
            ABOUT,
            format!(
                "{} KiB for all rings of this user, {} KiB are needed for one on each core",
                bytes / KIB,
                needed / KIB
            ),
            "ulimit -l unlimited; LimitMEMLOCK=infinity in systemd; --ulimit memlock=-1 in Docker",
        ),
        Some(bytes) => Check::good(ABOUT, format!("{} KiB", bytes / KIB)),
    }
}

fn descriptors(facts: &Facts) -> Check {
    const ABOUT: &str = "open descriptors";
    const ADVICE: &str =
        "ulimit -Hn 1048576; LimitNOFILE=1048576 in systemd; --ulimit nofile=1048576 in Docker";
    match facts.descriptors {
        None => Check::good(ABOUT, "unlimited"),
        Some(most) if most < DESCRIPTORS_LEAST => Check::bad(ABOUT, format!("at most {most}"), ADVICE),
        Some(most) if most < DESCRIPTORS_GOOD => Check::doubtful(
            ABOUT,
            format!("at most {most}: the plans with more connections are refused"),
            ADVICE,
        ),
        Some(most) => Check::good(ABOUT, format!("at most {most}")),
    }
}

fn backlog(facts: &Facts) -> Check {
    const ABOUT: &str = "net.core.somaxconn";
    match facts.backlog {
        Some(most) if most < BACKLOG_GOOD => Check::doubtful(
            ABOUT,
            format!("{most}: a burst of connections waits a second or more to be tried again"),
            format!("sysctl -w net.core.somaxconn={BACKLOG_GOOD}"),
        ),
        Some(most) => Check::good(ABOUT, most.to_string()),
        None => unknown(ABOUT),
    }
}

fn ports(facts: &Facts) -> Check {
    const ABOUT: &str = "ports of outgoing connections";
    match facts.ports {
        Some((first, last)) => {
            let count = last.saturating_sub(first) + 1;
            let found = format!("{count}, from {first} to {last}");
            match count >= PORTS_GOOD {
                true => Check::good(ABOUT, found),
                false => Check::doubtful(
                    ABOUT,
                    format!("{found}: a closed connection keeps one for a minute"),
                    "sysctl -w net.ipv4.ip_local_port_range='15000 60999'",
                ),
            }
        }
        None => unknown(ABOUT),
    }
}

fn conntrack(facts: &Facts) -> Check {
    const ABOUT: &str = "connection tracking";
    match facts.conntrack {
        None => Check::good(ABOUT, "the kernel tracks no connections"),
        Some((count, most)) if count * 2 > most => Check::bad(
            ABOUT,
            format!("{count} of {most} entries are taken; new connections are dropped when it is full"),
            "wait two minutes, or sysctl -w net.netfilter.nf_conntrack_max=1048576",
        ),
        Some((count, most)) if most < CONNTRACK_GOOD => Check::doubtful(
            ABOUT,
            format!("{count} of {most} entries are taken; a closed connection keeps one for two minutes"),
            "sysctl -w net.netfilter.nf_conntrack_max=1048576, or do not track loopback: \
             iptables -t raw -A OUTPUT -o lo -j NOTRACK (undo: the same with -D)",
        ),
        Some((count, most)) => Check::good(ABOUT, format!("{count} of {most} entries are taken")),
    }
}

fn cores(facts: &Facts) -> Check {
    const ABOUT: &str = "cores";
    let (allowed, online) = (facts.cores.len(), facts.cores_online);
    let found = format!("{allowed} of {online} may be used: {}", facts.cores);
    match allowed {
        0 | 1 => Check::bad(
            ABOUT,
            format!("{found}; clients would run on the server's core"),
            "a second core, by taskset, --cpuset-cpus or a larger machine",
        ),
        _ => Check::good(ABOUT, found),
    }
}

fn quota(facts: &Facts) -> Check {
    const ABOUT: &str = "control group's quota";
    match facts.quota {
        None => Check::good(ABOUT, "none"),
        Some(quota) if quota < facts.cores.len() as f64 => Check::bad(
            ABOUT,
            format!(
                "{quota:.1} cores' worth of time on {} cores: whoever uses more is stopped",
                facts.cores.len()
            ),
            "cores of its own instead of a quota: --cpuset-cpus, or AllowedCPUs= in systemd",
        ),
        Some(quota) => Check::good(ABOUT, format!("{quota:.1} cores' worth of time, which is all of them")),
    }
}

fn smt(facts: &Facts) -> Check {
    const ABOUT: &str = "hardware threads";
    match facts.smt {
        Some(true) => Check::doubtful(
            ABOUT,
            "two share a core: what one does slows the other down",
            "give servers and clients different physical cores; echo off > /sys/devices/system/cpu/smt/control \
             (undo: echo on)",
        ),
        Some(false) => Check::good(ABOUT, "one for each core"),
        None => unknown(ABOUT),
    }
}

fn governor(facts: &Facts) -> Check {
    const ABOUT: &str = "clock";
    match facts.governor.as_deref() {
        Some("performance") => Check::good(ABOUT, "governed for performance"),
        Some(other) => Check::doubtful(
            ABOUT,
            format!("governed by `{other}`: it changes while it is measured"),
            format!(
                "for c in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $c; done \
                 (undo: echo {other})"
            ),
        ),
        None => Check::good(ABOUT, "not ours to govern"),
    }
}

fn quiet(facts: &Facts) -> Check {
    const ABOUT: &str = "other programs";
    match facts.load {
        Some(load) if load > LOAD_PER_CORE * facts.cores_online as f64 => Check::doubtful(
            ABOUT,
            format!("a load of {load:.2} on {} cores", facts.cores_online),
            "end them, or measure when they have ended",
        ),
        Some(load) => Check::good(ABOUT, format!("a load of {load:.2}")),
        None => unknown(ABOUT),
    }
}

fn steal(facts: &Facts) -> Check {
    const ABOUT: &str = "hypervisor";
    match facts.steal_percent {
        Some(percent) if percent > STEAL_PERCENT => Check::doubtful(
            ABOUT,
            format!("gave {percent:.1} % of the time to somebody else"),
            "another time, or a machine that is not shared",
        ),
        Some(percent) => Check::good(ABOUT, format!("gave {percent:.1} % of the time to somebody else")),
        None => unknown(ABOUT),
    }
}

fn unknown(about: &'static str) -> Check {
    Check::good(about, "the kernel does not tell")
}

const KIB: u64 = 1024;
/// A ring of 1024 entries.
const RING_BYTES: u64 = 104 * KIB;
const DESCRIPTORS_LEAST: u64 = 1024;
const DESCRIPTORS_GOOD: u64 = 65_536;
const BACKLOG_GOOD: u64 = 4096;
const PORTS_GOOD: u64 = 20_000;
const CONNTRACK_GOOD: u64 = 524_288;
const LOAD_PER_CORE: f64 = 0.2;
const STEAL_PERCENT: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::super::{Diagnosis, State};
    use super::*;

    /// A machine that nothing is wrong with.
    fn fit() -> Facts {
        Facts {
            ring: Ok(()),
            memlock: None,
            is_root: false,
            descriptors: Some(1_048_576),
            backlog: Some(4096),
            ports: Some((15_000, 60_999)),
            conntrack: None,
            cores: "0-7".parse().unwrap(),
            cores_online: 8,
            quota: None,
            smt: Some(false),
            governor: Some("performance".to_owned()),
            load: Some(0.1),
            steal_percent: Some(0.0),
            irqbalance: false,
            nics: Vec::new(),
        }
    }

    #[test]
    fn a_fit_machine_needs_no_advice() {
        let diagnosis = Diagnosis::new(&fit());
        assert!(diagnosis.is_fit());
        let advised: Vec<_> = diagnosis.checks.iter().filter(|check| check.advice.is_some()).collect();
        assert!(advised.is_empty(), "{advised:?}");
    }

    #[test]
    fn every_fault_is_found_alone_with_its_advice() {
        type Change = fn(&mut Facts);
        let faults: [(&str, State, Change); 15] = [
            ("io_uring", State::Bad, |facts| facts.ring = Err(("denied".into(), "allow it".into()))),
            ("locked memory", State::Bad, |facts| facts.memlock = Some(65_536)),
            ("open descriptors", State::Bad, |facts| facts.descriptors = Some(256)),
            ("open descriptors", State::Doubtful, |facts| facts.descriptors = Some(20_000)),
            ("net.core.somaxconn", State::Doubtful, |facts| facts.backlog = Some(128)),
            ("ports of outgoing connections", State::Doubtful, |facts| facts.ports = Some((50_000, 60_000))),
            ("connection tracking", State::Bad, |facts| facts.conntrack = Some((200_000, 262_144))),
            ("connection tracking", State::Doubtful, |facts| facts.conntrack = Some((10, 262_144))),
            ("cores", State::Bad, |facts| facts.cores = "3".parse().unwrap()),
            ("control group's quota", State::Bad, |facts| facts.quota = Some(1.5)),
            ("hardware threads", State::Doubtful, |facts| facts.smt = Some(true)),
            ("clock", State::Doubtful, |facts| facts.governor = Some("powersave".to_owned())),
            ("other programs", State::Doubtful, |facts| facts.load = Some(3.0)),
            ("hypervisor", State::Doubtful, |facts| facts.steal_percent = Some(4.0)),
            ("hypervisor", State::Doubtful, |facts| facts.steal_percent = Some(1.1)),
        ];
        for (about, state, change) in faults {
            let mut facts = fit();
            change(&mut facts);
            let diagnosis = Diagnosis::new(&facts);
            assert_eq!(diagnosis.is_fit(), state < State::Bad, "{about}");
            let found: Vec<_> = diagnosis.checks.iter().filter(|check| check.state > State::Good).collect();
            assert_eq!(found.len(), 1, "{about}: {found:?}");
            assert_eq!((found[0].about, found[0].state), (about, state));
            assert!(found[0].advice.is_some(), "{about}");
        }
    }

    #[test]
    fn what_a_root_may_lock_has_no_limit() {
        let facts = Facts { memlock: Some(65_536), is_root: true, ..fit() };
        assert!(Diagnosis::new(&facts).is_fit());
    }

    #[test]
    fn this_machine_can_be_read() {
        let diagnosis = Diagnosis::new(&Facts::read());
        assert_eq!(diagnosis.checks.len(), 12);
    }
}
