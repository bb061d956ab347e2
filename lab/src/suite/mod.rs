//! Suites: plans that come with the lab, which repeat studies at the size that
//! this machine allows.
//!
//! The plans are the files in `lab/suites`; what a study had and this machine
//! does not is scaled by [`Experiment::scaled_to`].

mod machine;

use crate::experiment::{Experiment, file};

pub use machine::{folder, server_cores};

/// Plans that belong together.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Suite {
    /// What the user calls it.
    pub name: &'static str,
    /// One line on what it is.
    pub about: &'static str,
    /// The plans, in the order in which they are run.
    pub plans: &'static [SuitePlan],
}

/// One plan of a suite.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SuitePlan {
    /// Its name, which is that of its results.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

impl Suite {
    /// The suite of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUITES.iter().find(|suite| suite.name == name)
    }
}

impl SuitePlan {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// The plan, at the size that this many cores for the servers allow.
    ///
    /// # Errors
    /// When the plan asks for something that does not exist, which a test makes
    /// sure of.
    pub fn experiment(&self, server_cores: usize) -> Result<Experiment, String> {
        file::parse(self.text).map(|experiment| experiment.scaled_to(server_cores))
    }
}

/// Every suite.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "seed",
        about: "scaling, handoffs, saturation, the tokio baseline in three placements, sweeps, admission, churn",
        plans: &[
            SuitePlan::new("noise", include_str!("../../suites/seed/noise.toml")),
            SuitePlan::new("scaling", include_str!("../../suites/seed/scaling.toml")),
            SuitePlan::new("handoff", include_str!("../../suites/seed/handoff.toml")),
            SuitePlan::new("saturation", include_str!("../../suites/seed/saturation.toml")),
            SuitePlan::new("baseline-shared", include_str!("../../suites/seed/baseline-shared.toml")),
            SuitePlan::new("baseline-split", include_str!("../../suites/seed/baseline-split.toml")),
            SuitePlan::new("baseline-one-cpu", include_str!("../../suites/seed/baseline-one-cpu.toml")),
            SuitePlan::new("payload", include_str!("../../suites/seed/payload.toml")),
            SuitePlan::new("connections", include_str!("../../suites/seed/connections.toml")),
            SuitePlan::new("admission", include_str!("../../suites/seed/admission.toml")),
            SuitePlan::new("churn", include_str!("../../suites/seed/churn.toml")),
        ],
    },
    Suite {
        name: "runtimes",
        about: "90 scenarios of a handler that computes and waits, even and uneven, at three scales",
        plans: &[SuitePlan::new("scenarios", include_str!("../../suites/runtimes/scenarios.toml"))],
    },
    Suite {
        name: "floors",
        about: "CPU per request against bare epoll and io_uring loops, by threads",
        plans: &[SuitePlan::new("threads", include_str!("../../suites/floors/threads.toml"))],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(suite: &str, plan: &str, server_cores: usize) -> usize {
        let suite = Suite::find(suite).unwrap();
        let plan = suite.plans.iter().find(|one| one.name == plan).unwrap();
        plan.experiment(server_cores).unwrap().rows.len()
    }

    #[test]
    fn every_plan_is_one_that_can_be_run() {
        for suite in SUITES {
            for plan in suite.plans {
                for cores in [1, 2, 12] {
                    let experiment = plan.experiment(cores);
                    assert!(experiment.is_ok(), "{} {}: {experiment:?}", suite.name, plan.name);
                }
            }
        }
    }

    #[test]
    fn the_scenarios_are_ninety_where_the_study_was_made_and_fewer_where_they_are_the_same() {
        assert_eq!(rows("runtimes", "scenarios", 12), 90);
        assert_eq!(rows("runtimes", "scenarios", 1), 30);
    }
}
