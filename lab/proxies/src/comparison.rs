//! The course of a comparison: restarts, pairs of neighbouring slices in the order ABBA, CPU time of the proxy's process
//! for each unit of traffic. What the samples mean is the lab's statistics' business.

use std::io;
use std::time::Duration;

use corepool_lab::accounting::{AccountingError, Usage};
use corepool_lab::statistics::{Estimate, Resamples, estimate};

use crate::contenders::{Contender, Given, Running};
use crate::traffic::{Traffic, Upstream};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How often both are started anew.
    pub(crate) restarts: usize,
    /// Pairs of slices after each start.
    pub(crate) pairs: usize,
    /// Connections to the upstream.
    pub(crate) connections: usize,
    /// The core of the proxies.
    pub(crate) core: usize,
    /// The core of everything else.
    pub(crate) client_core: usize,
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// CPU time for each unit, A and B, over all pairs.
    pub(crate) cpu: [Duration; 2],
    /// B/A.
    pub(crate) ratio: Estimate,
}

/// Why a comparison could not be finished.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ComparisonError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    #[error("no pair was measured")]
    Nothing,
}

/// Compares B with A.
pub(crate) fn compare(
    contenders: [Contender; 2],
    traffic: Traffic,
    effort: Effort,
) -> Result<Outcome, ComparisonError> {
    let mut restarts = Vec::new();
    let mut cpu = [Duration::ZERO; 2];
    for _ in 0..effort.restarts {
        let upstream = Upstream::start(traffic, effort.client_core)?;
        let given =
            Given { upstream: upstream.address(), connections: effort.connections, core: effort.core };
        let running = [contenders[0].start(given)?, contenders[1].start(given)?];
        for warming in &running {
            slice(warming, traffic)?;
        }
        let mut pairs = Vec::new();
        let swapped = fastrand::bool();
        for pair in 0..effort.pairs {
            let mut spent = [Duration::ZERO; 2];
            let b_first = swapped != (pair % 2 == 1);
            for side in if b_first { [1, 0] } else { [0, 1] } {
                spent[side] = slice(&running[side], traffic)?;
                cpu[side] += spent[side];
            }
            pairs.push((spent[1].as_secs_f64() / spent[0].as_secs_f64()).ln());
        }
        restarts.push(pairs);
    }
    let ratio =
        estimate(&restarts, 1, Resamples::Thorough, fastrand::u64(..)).ok_or(ComparisonError::Nothing)?;
    let units = traffic.units() * (effort.restarts * effort.pairs) as f64;
    Ok(Outcome { cpu: cpu.map(|cpu| cpu.div_f64(units)), ratio })
}

/// The CPU time that one slice costs the proxy.
fn slice(proxy: &Running, traffic: Traffic) -> Result<Duration, ComparisonError> {
    let before = Usage::when_idle(proxy.pid())?;
    traffic.run(proxy.address)?;
    Ok(Usage::when_idle(proxy.pid())?.since(&before).cpu)
}
