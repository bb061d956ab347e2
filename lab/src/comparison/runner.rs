//! The loop of a comparison: restarts, slices, rounds.

use std::io;
use std::time::Instant;

use fastrand::Rng;

use super::ComparisonError;
use super::outcome::{Outcome, Round, Sample};
use crate::accounting::Counted;
use crate::figures::Figure;
use crate::generator::Clients;
use crate::plan::Plan;
use crate::servers::Server;
use crate::statistics::Resamples;

pub(super) struct Runner<'a, W> {
    plan: &'a Plan,
    clients: Clients,
    random: Rng,
    outcome: Outcome,
    began: Instant,
    failed_in_a_row: usize,
    watch: W,
}

impl<'a, W: FnMut(&Outcome)> Runner<'a, W> {
    pub(super) fn new(plan: &'a Plan, watch: W) -> io::Result<Self> {
        let cores = &plan.placement.client_cores;
        let clients = Clients::start(cores.len(), cores, &plan.workload)?;
        let workers = plan.serve.workers.min(plan.placement.server_cores.len());
        let threads = (!plan.placement.shared).then(|| (clients.threads(), workers));
        Ok(Self {
            plan,
            clients,
            random: Rng::with_seed(plan.seed),
            outcome: Outcome::new(plan.systems.iter().map(|system| system.driver), threads, plan.seed),
            began: Instant::now(),
            failed_in_a_row: 0,
            watch,
        })
    }

    pub(super) fn run(mut self) -> Result<Outcome, ComparisonError> {
        let mut restart = 0;
        while !self.is_enough(restart) && !self.is_hopeless() {
            self.restart(self.plan.rounds(restart))?;
            restart += 1;
        }
        Ok(self.outcome)
    }

    fn restart(&mut self, rounds: usize) -> Result<(), ComparisonError> {
        self.outcome.restarts.push(Vec::new());
        let mut servers = self.start_servers()?;
        for system in self.random_order() {
            let server = &mut servers[system];
            // To count system calls no more takes the kernel a tenth of a second, so once is enough.
            let is_first = self.outcome.restarts.len() == 1;
            server.count(if is_first { &Counted::ALL } else { Counted::HARDWARE })?;
            let sample = self.slice(system, server)?;
            self.outcome.systems[system].warm_up(&sample);
            if is_first {
                server.count(Counted::HARDWARE)?;
            }
        }
        let begun = servers.iter_mut().map(Server::usage).collect::<Result<Vec<_>, _>>()?;
        let mut order = self.random_order();
        for _ in 0..rounds {
            self.round(&order, &mut servers)?;
            (self.watch)(&self.outcome);
            if self.is_hopeless() || self.is_budget_spent() {
                break;
            }
            order.reverse();
        }
        for (system, (server, begun)) in servers.iter_mut().zip(&begun).enumerate() {
            let mut threads = server.usage()?.busiest_since(begun);
            threads.truncate(self.plan.serve.workers);
            self.outcome.systems[system].workers.push(threads);
        }
        Ok(self.clients.disconnect()?)
    }

    /// Starts all servers, in random order.
    fn start_servers(&mut self) -> Result<Vec<Server>, ComparisonError> {
        let mut servers = Vec::new();
        for system in self.random_order() {
            let name = &self.plan.systems[system].name;
            let server = Server::start(&self.plan.executable, name, &self.plan.serve(system))?;
            server.driver().clone_into(&mut self.outcome.systems[system].driver);
            self.clients.connect(system, server.address())?;
            servers.push((system, server));
        }
        servers.sort_by_key(|(system, _)| *system);
        Ok(servers.into_iter().map(|(_, server)| server).collect())
    }

    /// One slice of each.
    fn round(&mut self, order: &[usize], servers: &mut [Server]) -> Result<(), ComparisonError> {
        let mut figures = vec![None; servers.len()];
        for &system in order {
            let sample = self.slice(system, &mut servers[system])?;
            figures[system] = self.outcome.add(system, &sample);
        }
        let round = Round { figures };
        self.failed_in_a_row = if round.is_clean() { 0 } else { self.failed_in_a_row + 1 };
        self.outcome.restarts.last_mut().into_iter().for_each(|rounds| rounds.push(round.clone()));
        Ok(())
    }

    fn slice(&self, system: usize, server: &mut Server) -> Result<Sample, ComparisonError> {
        let before = server.usage()?;
        let slice = self.clients.run(system, self.plan.slice)?;
        let spent = server.usage()?.since(&before);
        let grown_bytes = spent.resident_bytes.saturating_sub(server.resident_bytes_at_start());
        Ok(Sample { slice, spent, grown_bytes })
    }

    fn random_order(&mut self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.plan.systems.len()).collect();
        self.random.shuffle(&mut order);
        order
    }

    /// Whether so many restarts are all that the plan asks for.
    fn is_enough(&self, restarts: usize) -> bool {
        match self.plan.until {
            _ if self.is_budget_spent() => true,
            _ if restarts < self.plan.restarts => false,
            Some(precision) => (1..self.plan.systems.len()).all(|system| {
                let estimate = self.outcome.estimate(system, Figure::PRIMARY, Resamples::Thorough);
                estimate.is_some_and(|estimate| precision.is_reached(&estimate))
            }),
            None => self.plan.budget.is_none(),
        }
    }

    fn is_budget_spent(&self) -> bool {
        self.plan.budget.is_some_and(|budget| self.began.elapsed() >= budget)
    }

    /// Whether going on would only lose more requests.
    const fn is_hopeless(&self) -> bool {
        self.failed_in_a_row >= FAILED_ROUNDS_MAX
    }
}

/// So many failed rounds in a row end the run.
const FAILED_ROUNDS_MAX: usize = 3;
