//! What a comparison has measured.

use std::time::Duration;

use crate::accounting::{Counted, PerRequest, Spent};
use crate::figures::{Figure, Figures};
use crate::generator::{Busy, Slice};
use crate::statistics::{Estimate, Resamples, estimate};

/// What has been measured so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The servers in the order of the plan, each over its clean slices.
    pub systems: Vec<Measured>,
    /// The rounds, grouped by restart.
    pub restarts: Vec<Vec<Round>>,
    /// The threads of the clients, and those of each server that can run at a time;
    /// none if all of them share cores.
    threads: Option<(usize, usize)>,
    seed: u64,
}

/// A server over all its clean slices.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// What drives its sockets, as it says itself.
    pub driver: String,
    /// What the clients measured.
    pub clients: Slice,
    /// What the server used.
    pub server: Spent,
    /// Memory that the server got since before the first connection, at most.
    pub grown_bytes: u64,
    /// The clean slices to warm up in which system calls were counted.
    pub warm_up: (Slice, Spent),
    /// Slices run, with those to warm up.
    pub slices: usize,
    /// Slices in which requests were lost; they are in no figure.
    pub failed: Slice,
    /// How many of them.
    pub failed_slices: usize,
    /// The CPU time of each worker in each restart, the busiest first.
    pub workers: Vec<Vec<Duration>>,
}

/// One slice of each server, side by side in time; the figures of a slice that
/// lost requests are missing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Round {
    /// The figures, in the order of the plan.
    pub figures: Vec<Option<Figures>>,
}

/// One slice of one server, as it was measured.
pub(super) struct Sample {
    pub(super) slice: Slice,
    pub(super) spent: Spent,
    /// Memory that the server has got since before the first connection.
    pub(super) grown_bytes: u64,
}

impl Outcome {
    pub(super) fn new(
        drivers: impl Iterator<Item = &'static str>,
        threads: Option<(usize, usize)>,
        seed: u64,
    ) -> Self {
        Self { systems: drivers.map(Measured::nothing).collect(), restarts: Vec::new(), threads, seed }
    }

    /// How busy a server and its clients were; unknown where they share cores.
    #[must_use]
    pub fn busy(&self, system: usize) -> Option<Busy> {
        let (threads, workers) = self.threads?;
        let measured = &self.systems[system];
        Some(Busy::new(&measured.clients, threads, measured.server.cpu, workers))
    }

    /// How many rounds there are.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.restarts.iter().map(Vec::len).sum()
    }

    /// The ratio of a figure of a server to that of the first one; none if they
    /// have no clean round together. Its intervals hold for all servers at once.
    #[must_use]
    pub fn estimate(&self, system: usize, figure: Figure, resamples: Resamples) -> Option<Estimate> {
        let restarts = self.log_ratios(system, figure);
        estimate(&restarts, self.systems.len().saturating_sub(1), resamples, self.seed)
    }

    /// The logarithms of the ratios of a figure of a server to that of the first
    /// one, grouped by restart.
    #[must_use]
    pub fn log_ratios(&self, system: usize, figure: Figure) -> Vec<Vec<f64>> {
        let ratios =
            |rounds: &Vec<Round>| rounds.iter().filter_map(|round| round.log_ratio(system, figure)).collect();
        self.restarts.iter().map(ratios).collect()
    }

    /// What was lost, if anything was, with the names of the servers.
    #[must_use]
    pub fn failure(&self, names: &[String]) -> Option<String> {
        let told = names.iter().zip(&self.systems).filter_map(|(name, system)| {
            let failure = system.failure()?;
            Some(format!("{name}: {failure}"))
        });
        let told: Vec<_> = told.collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Adds a slice; its figures if it was clean.
    pub(super) fn add(&mut self, system: usize, sample: &Sample) -> Option<Figures> {
        self.systems[system].add(sample)
    }
}

impl Measured {
    fn nothing(driver: &str) -> Self {
        Self {
            driver: driver.to_owned(),
            clients: Slice::empty(),
            server: Spent::default(),
            grown_bytes: 0,
            warm_up: (Slice::empty(), Spent::default()),
            slices: 0,
            failed: Slice::empty(),
            failed_slices: 0,
            workers: Vec::new(),
        }
    }

    /// The part that each worker had of the CPU time of all, the busiest first,
    /// as the mean of all restarts.
    #[must_use]
    pub fn worker_shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.workers.iter().map(Vec::len).max().unwrap_or(0)];
        for workers in &self.workers {
            let all: Duration = workers.iter().sum();
            for (share, worker) in shares.iter_mut().zip(workers) {
                let part = worker.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
                *share += part / self.workers.len() as f64;
            }
        }
        shares
    }

    /// Its figures over all clean slices.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        Figures::new(&self.clients, self.server)
    }

    /// What the server used for each request.
    #[must_use]
    pub fn server_per_request(&self) -> PerRequest {
        let (warm_up, spent) = &self.warm_up;
        PerRequest::new(&self.server, self.clients.requests).with_system_calls(spent, warm_up.requests)
    }

    /// What the clients used for each request.
    #[must_use]
    pub fn clients_per_request(&self) -> PerRequest {
        PerRequest::new(&self.clients.spent, self.clients.requests)
    }

    /// What it lost, if anything.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        (self.failed_slices > 0)
            .then(|| format!("{} in {} of {} slices", self.failed.faults, self.failed_slices, self.slices))
    }

    /// A slice to warm up: it counts only if it fails.
    pub(super) fn warm_up(&mut self, sample: &Sample) {
        self.slices += 1;
        match sample.figures() {
            Some(_) if sample.spent.counts.of(Counted::SystemCalls).is_some() => {
                self.warm_up.0.append(&sample.slice);
                self.warm_up.1.append(&sample.spent);
            }
            Some(_) => {}
            None => self.fail(sample),
        }
    }

    fn add(&mut self, sample: &Sample) -> Option<Figures> {
        self.slices += 1;
        let figures = sample.figures();
        match figures {
            Some(_) => {
                self.clients.append(&sample.slice);
                self.server.append(&sample.spent);
                self.grown_bytes = self.grown_bytes.max(sample.grown_bytes);
            }
            None => self.fail(sample),
        }
        figures
    }

    fn fail(&mut self, sample: &Sample) {
        self.failed_slices += 1;
        self.failed.append(&sample.slice);
    }
}

impl Round {
    fn log_ratio(&self, system: usize, figure: Figure) -> Option<f64> {
        let figures = |system: usize| self.figures.get(system)?.as_ref();
        figures(system)?.log_ratio(figures(0)?, figure)
    }

    pub(super) fn is_clean(&self) -> bool {
        self.figures.iter().all(Option::is_some)
    }
}

impl Sample {
    /// Its figures, unless it lost requests.
    fn figures(&self) -> Option<Figures> {
        if self.slice.faults.total() > 0 {
            return None;
        }
        Figures::new(&self.slice, self.spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_the_workers_are_the_mean_of_all_restarts() {
        let mut measured = Measured::nothing("epoll");
        assert!(measured.worker_shares().is_empty());
        let seconds = |workers: [u64; 2]| workers.map(Duration::from_secs).to_vec();
        measured.workers = vec![seconds([3, 1]), seconds([1, 1])];
        assert_eq!(measured.worker_shares(), [0.625, 0.375]);
    }
}
