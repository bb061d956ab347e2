//! What disturbed a run: time that the hypervisor gave to somebody else, and time that
//! other programs of this machine used.

use std::time::Instant;

use procfs::process::Process;
use procfs::{CurrentSI, KernelStats};
use serde::{Deserialize, Serialize};

/// What disturbed a run, as shares of all cores' time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Disturbance {
    /// What the hypervisor gave to somebody else, in percent.
    pub steal_percent: Option<f64>,
    /// What programs used that are neither the lab nor one of its servers, in percent.
    #[serde(default)]
    pub others_percent: Option<f64>,
}

/// Measures from when it is started on.
#[derive(Clone, Debug)]
pub struct DisturbanceMeter {
    begun: Instant,
    start: Option<Ticks>,
}

/// Hundredths of a second since the machine was started, of all cores together.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    stolen: u64,
    busy: u64,
    all: u64,
    /// What this process has used, and those of its children that have ended.
    ours: u64,
}

impl DisturbanceMeter {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self { begun: Instant::now(), start: Ticks::now() }
    }

    /// What there was since the start, when all servers have ended; nothing is known if
    /// the kernel does not tell, or of a moment that is too short for its clock.
    #[must_use]
    pub fn disturbance(&self) -> Disturbance {
        match (self.start, Ticks::now()) {
            (Some(start), Some(now)) if self.begun.elapsed().as_millis() >= SHORTEST_MS => now.since(&start),
            _ => Disturbance::default(),
        }
    }
}

impl Disturbance {
    /// What a reader must be told, if it was more than a result can bear.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(steal) = self.steal_percent.filter(|steal| *steal > STEAL_LIMIT_PERCENT) {
            warnings.push(format!(
                "disturbed: the hypervisor gave {steal:.1} % of the time to somebody else (limit \
                 {STEAL_LIMIT_PERCENT} %)"
            ));
        }
        if let Some(others) = self.others_percent.filter(|others| *others > OTHERS_LIMIT_PERCENT) {
            warnings.push(format!(
                "disturbed: other programs used {others:.0} % of the cores' time (limit \
                 {OTHERS_LIMIT_PERCENT} %)"
            ));
        }
        warnings
    }
}

impl Ticks {
    fn now() -> Option<Self> {
        let total = KernelStats::current().ok()?.total;
        let myself = Process::myself().ok()?.stat().ok()?;
        let [io_wait, irq, soft_irq] =
            [total.iowait, total.irq, total.softirq].map(Option::unwrap_or_default);
        let stolen = total.steal.unwrap_or_default();
        let busy = total.user + total.nice + total.system + irq + soft_irq;
        let children = u64::try_from(myself.cutime + myself.cstime).unwrap_or_default();
        Some(Self {
            stolen,
            busy,
            all: busy + total.idle + io_wait + stolen,
            ours: myself.utime + myself.stime + children,
        })
    }

    fn since(&self, start: &Self) -> Disturbance {
        let all = self.all.saturating_sub(start.all).max(1) as f64;
        let percent = |ticks: u64| Some(100.0 * ticks as f64 / all);
        let (busy, ours) = (self.busy - start.busy, self.ours - start.ours);
        Disturbance {
            steal_percent: percent(self.stolen - start.stolen),
            others_percent: percent(busy.saturating_sub(ours)),
        }
    }
}

/// A quarter of that is already the difference that a comparison looks for.
const STEAL_LIMIT_PERCENT: f64 = 1.0;
const OTHERS_LIMIT_PERCENT: f64 = 5.0;
/// The kernel's clock ticks a hundred times a second.
const SHORTEST_MS: u128 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_are_of_all_cores_and_without_what_is_ours() {
        let start = Ticks { stolen: 10, busy: 1000, all: 5000, ours: 100 };
        let now = Ticks { stolen: 14, busy: 1300, all: 5400, ours: 300 };
        let disturbance = now.since(&start);
        assert_eq!(disturbance.steal_percent, Some(1.0));
        assert_eq!(disturbance.others_percent, Some(25.0));
    }

    #[test]
    fn only_what_is_above_its_limit_is_told() {
        let warnings = |steal, others| {
            Disturbance { steal_percent: Some(steal), others_percent: Some(others) }.warnings()
        };
        assert_eq!(warnings(0.9, 4.9).len(), 0);
        let told = warnings(3.24, 40.0);
        assert!(told[0].contains("3.2 % of the time"), "{told:?}");
        assert!(told[1].contains("other programs used 40 %"), "{told:?}");
        assert_eq!(Disturbance::default().warnings().len(), 0);
    }

    #[test]
    fn a_share_of_this_machine_is_a_share() {
        let meter = DisturbanceMeter::start();
        while meter.begun.elapsed().as_millis() < SHORTEST_MS {
            std::thread::yield_now();
        }
        let shares = meter.disturbance();
        let all = [shares.steal_percent, shares.others_percent];
        assert!(all.into_iter().flatten().all(|percent| (0.0..=100.0).contains(&percent)), "{shares:?}");
        assert_eq!(DisturbanceMeter::start().disturbance(), Disturbance::default());
    }
}
