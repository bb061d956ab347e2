//! Which cores there are for us, and which worker runs on which.
//!
//! The numbers come from the process's affinity mask, so a container's cpuset that does not start at 0 is
//! respected, and from `available_parallelism`, which knows cgroup quotas. The plan is a pure function of them.

use std::fmt;
use std::thread::available_parallelism;

use crate::error::StartError;

/// One logical processor, by the number that the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "a number")]
pub struct CoreId(pub usize);

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What this process may use.
#[derive(Debug, Clone)]
pub(crate) struct Allowance {
    /// The cores of the affinity mask, ascending.
    cores: Vec<CoreId>,
    /// How many cores' worth of time there is; less than the mask under a cgroup quota. A fraction is rounded
    /// down, to at least 1.
    parallelism: usize,
}

impl Allowance {
    pub(crate) fn of_this_process() -> Self {
        let ids = core_affinity::get_core_ids().unwrap_or_default();
        let mut cores: Vec<_> = ids.into_iter().map(|core| CoreId(core.id)).collect();
        cores.sort_unstable();
        let parallelism = available_parallelism().map_or(1, usize::from);
        Self { cores, parallelism }
    }

    /// Whether a quota, and not the mask, is what bounds us. Pinning would then leave the scheduler no choice
    /// among cores that are ours only part of the time.
    fn is_under_quota(&self) -> bool {
        self.parallelism < self.cores.len()
    }
}

/// What the user asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wish {
    pub(crate) workers: Option<usize>,
    pub(crate) cores: Option<Vec<usize>>,
    pub(crate) pin: Option<bool>,
}

/// The most workers that a server can have; a full scan over them is made when a core is full.
const WORKERS_MAX: usize = 1024;

/// The core of each worker, if it is pinned.
pub(crate) fn plan(wish: &Wish, allowance: &Allowance) -> Result<Vec<Option<CoreId>>, StartError> {
    let invalid = |field, value: String, allowed: String| StartError::Config { field, value, allowed };
    if let Some(workers) = wish.workers.filter(|count| !(1..=WORKERS_MAX).contains(count)) {
        return Err(invalid("workers", workers.to_string(), format!("1 to {WORKERS_MAX} are allowed")));
    }
    let Some(list) = &wish.cores else {
        let pin = wish.pin.unwrap_or_else(|| !allowance.is_under_quota()) && !allowance.cores.is_empty();
        let workers = wish.workers.unwrap_or_else(|| allowance.parallelism.min(WORKERS_MAX));
        let core_of = |worker: usize| pin.then(|| allowance.cores[worker % allowance.cores.len()]);
        return Ok((0..workers).map(core_of).collect());
    };
    let given = || format!("{list:?}");
    if list.is_empty() {
        return Err(invalid("cores", given(), "at least one core is needed".into()));
    }
    if let Some(workers) = wish.workers.filter(|&count| count != list.len()) {
        let allowed = format!("it must have one core for each of the {workers} workers");
        return Err(invalid("cores", given(), allowed));
    }
    if wish.pin == Some(false) {
        return Err(invalid(
            "pin",
            "false".into(),
            "a list of cores was given, which pins the workers".into(),
        ));
    }
    if let Some(foreign) = list.iter().find(|&&core| !allowance.cores.contains(&CoreId(core))) {
        let ours: Vec<_> = allowance.cores.iter().map(ToString::to_string).collect();
        let allowed = format!("core {foreign} is not available, this process may use {}", ours.join(", "));
        return Err(invalid("cores", given(), allowed));
    }
    Ok(list.iter().map(|&core| Some(CoreId(core))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowance(cores: &[usize], parallelism: usize) -> Allowance {
        Allowance { cores: cores.iter().copied().map(CoreId).collect(), parallelism }
    }

    fn planned(wish: &Wish, allowance: &Allowance) -> Vec<Option<usize>> {
        plan(wish, allowance).expect("a plan").into_iter().map(|core| core.map(|core| core.0)).collect()
    }

    #[test]
    fn a_worker_for_each_core_of_a_mask_that_does_not_start_at_0() {
        assert_eq!(planned(&Wish::default(), &allowance(&[2, 3, 7], 3)), [Some(2), Some(3), Some(7)]);
    }

    #[test]
    fn under_a_quota_as_many_workers_as_it_pays_for_and_none_pinned() {
        assert_eq!(planned(&Wish::default(), &allowance(&[0, 1, 2, 3], 2)), [None, None]);
        let pinned = Wish { pin: Some(true), ..Wish::default() };
        assert_eq!(planned(&pinned, &allowance(&[0, 1, 2, 3], 2)), [Some(0), Some(1)]);
    }

    #[test]
    fn more_workers_than_cores_share_them() {
        let wish = Wish { workers: Some(3), ..Wish::default() };
        assert_eq!(planned(&wish, &allowance(&[4, 5], 2)), [Some(4), Some(5), Some(4)]);
    }

    #[test]
    fn a_list_of_cores_is_taken_as_it_is() {
        let wish = Wish { cores: Some(vec![5, 4]), ..Wish::default() };
        assert_eq!(planned(&wish, &allowance(&[4, 5], 2)), [Some(5), Some(4)]);
    }

    #[test]
    fn impossible_wishes_name_the_field_and_what_is_allowed() {
        let refused = |wish: Wish| plan(&wish, &allowance(&[4, 5], 2)).expect_err("refused").to_string();
        let foreign = refused(Wish { cores: Some(vec![0]), ..Wish::default() });
        assert_eq!(foreign, "cores is [0]: core 0 is not available, this process may use 4, 5");
        assert!(refused(Wish { cores: Some(vec![]), ..Wish::default() }).starts_with("cores is []"));
        assert!(refused(Wish { workers: Some(0), ..Wish::default() }).starts_with("workers is 0"));
        let contrary = Wish { workers: Some(2), cores: Some(vec![4]), ..Wish::default() };
        assert!(refused(contrary).contains("each of the 2 workers"));
    }
}
