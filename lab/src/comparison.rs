//! `corepool-lab ab`: runs two servers against each other.
//!
//! A run is a number of restarts. In each, both servers are started anew, in
//! random order; connections to both are opened and stay; one slice of each is
//! thrown away to warm up; then pairs of slices follow, one of A and one of B,
//! in the order ABBA, so that a machine that drifts favours neither.
//!
//! What the samples mean is left to [`statistics`](crate::statistics).

use std::io;

use fastrand::Rng;

use crate::accounting::{AccountingError, Spent, Usage};
use crate::figures::{Figure, Figures};
use crate::generator::{Clients, Side, Slice};
use crate::plan::Plan;
use crate::servers::{Server, ServerError};
use crate::statistics::{Estimate, Resamples, estimate};

/// What has been measured so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// A and B, each over its clean slices.
    pub sides: [Measured; 2],
    /// The clean pairs, grouped by restart.
    pub restarts: Vec<Vec<Pair>>,
    /// How many pairs have been tried, clean or not.
    pub pairs_tried: usize,
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
    /// Slices run, with those to warm up.
    pub slices: usize,
    /// Slices in which requests were lost; they are in no figure.
    pub failed: Slice,
    /// How many of them.
    pub failed_slices: usize,
}

/// One clean slice of A and one of B, side by side in time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Pair {
    /// The figures of A.
    pub a: Figures,
    /// The figures of B.
    pub b: Figures,
}

/// Runs the plan; `watch` sees what is known after each pair.
///
/// Lost requests are no error here: they are in the [`Outcome`], and after a
/// few failed pairs in a row the run is cut short.
///
/// # Errors
/// When a server does not start or ends, or something other than the servers
/// fails.
pub fn compare(plan: &Plan, watch: impl FnMut(&Outcome)) -> Result<Outcome, ComparisonError> {
    let cores = &plan.placement.client_cores;
    let mut runner = Runner {
        plan,
        clients: Clients::start(cores.len(), cores, &plan.workload)?,
        random: Rng::with_seed(plan.seed),
        outcome: Outcome {
            sides: plan.systems.map(|system| Measured::nothing(system.driver)),
            restarts: Vec::new(),
            pairs_tried: 0,
            seed: plan.seed,
        },
        failed_in_a_row: 0,
        watch,
    };
    for restart in 0..plan.restarts {
        let rest = usize::from(restart < plan.pairs % plan.restarts);
        runner.restart(plan.pairs / plan.restarts + rest)?;
        if runner.is_hopeless() {
            break;
        }
    }
    Ok(runner.outcome)
}

/// Why a run could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// A server did not start, or ended.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The CPU time of a server could not be read.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
    /// The clients could not go on.
    #[error("the load generator failed: {0}")]
    Clients(#[from] io::Error),
}

impl Outcome {
    /// The ratio B/A of a figure; none without a clean pair.
    #[must_use]
    pub fn estimate(&self, figure: Figure, resamples: Resamples) -> Option<Estimate> {
        let ratios = |pairs: &Vec<Pair>| {
            let ratio = |pair: &Pair| pair.b.log_ratio(&pair.a, figure);
            pairs.iter().filter_map(ratio).collect()
        };
        let restarts: Vec<_> = self.restarts.iter().map(ratios).collect();
        estimate(&restarts, resamples, self.seed)
    }

    fn add(&mut self, a: &CleanSlice, b: &CleanSlice) {
        let pair = Pair { a: a.figures, b: b.figures };
        self.restarts.last_mut().into_iter().for_each(|pairs| pairs.push(pair));
        self.sides[Side::A as usize].add(a);
        self.sides[Side::B as usize].add(b);
    }

    /// What was lost, if anything was.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let told: Vec<_> = ["A", "B"]
            .into_iter()
            .zip(&self.sides)
            .filter(|(_, side)| side.failed_slices > 0)
            .map(|(name, side)| {
                let (failed, slices) = (side.failed_slices, side.slices);
                format!("{name}: {} in {failed} of {slices} slices", side.failed.faults)
            })
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }
}

impl Measured {
    fn nothing(driver: &str) -> Self {
        Self {
            driver: driver.to_owned(),
            clients: Slice::empty(),
            server: Spent::default(),
            slices: 0,
            failed: Slice::empty(),
            failed_slices: 0,
        }
    }

    fn add(&mut self, clean: &CleanSlice) {
        self.clients.append(&clean.slice);
        self.server.cpu += clean.spent.cpu;
        self.server.switches += clean.spent.switches;
        self.server.threads_ended += clean.spent.threads_ended;
    }

    /// Its figures over all clean slices.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        Figures::new(&self.clients, self.server)
    }
}

struct Runner<'a, W> {
    plan: &'a Plan,
    clients: Clients,
    random: Rng,
    outcome: Outcome,
    failed_in_a_row: usize,
    watch: W,
}

impl<W: FnMut(&Outcome)> Runner<'_, W> {
    fn restart(&mut self, pairs: usize) -> Result<(), ComparisonError> {
        self.outcome.restarts.push(Vec::new());
        let mut servers = self.start_servers()?;
        for side in self.random_order() {
            self.slice(side, &mut servers)?;
        }
        let first = self.random_order();
        for pair in 0..pairs {
            let mut order = first;
            if !pair.is_multiple_of(2) {
                order.reverse();
            }
            self.pair(order, &mut servers)?;
            (self.watch)(&self.outcome);
            if self.is_hopeless() {
                break;
            }
        }
        Ok(self.clients.disconnect()?)
    }

    fn start_servers(&mut self) -> Result<[Server; 2], ComparisonError> {
        let order = self.random_order();
        let first = self.start_server(order[0])?;
        let second = self.start_server(order[1])?;
        Ok(match order[0] {
            Side::A => [first, second],
            Side::B => [second, first],
        })
    }

    fn start_server(&mut self, side: Side) -> Result<Server, ComparisonError> {
        let name = self.plan.systems[side as usize].name;
        let server = Server::start(&self.plan.executable, name, &self.plan.serve)?;
        server.driver().clone_into(&mut self.outcome.sides[side as usize].driver);
        self.clients.connect(side, server.address())?;
        Ok(server)
    }

    /// One slice of each; a pair counts only if both are clean.
    fn pair(&mut self, order: [Side; 2], servers: &mut [Server; 2]) -> Result<(), ComparisonError> {
        let mut clean = [None, None];
        for side in order {
            clean[side as usize] = self.slice(side, servers)?;
        }
        self.outcome.pairs_tried += 1;
        match clean {
            [Some(a), Some(b)] => {
                self.failed_in_a_row = 0;
                self.outcome.add(&a, &b);
            }
            _ => self.failed_in_a_row += 1,
        }
        Ok(())
    }

    /// One slice of one server; nothing if it lost requests.
    fn slice(
        &mut self,
        side: Side,
        servers: &mut [Server; 2],
    ) -> Result<Option<CleanSlice>, ComparisonError> {
        let server = &mut servers[side as usize];
        let before = usage(server)?;
        let slice = self.clients.run(side, self.plan.slice)?;
        let spent = usage(server)?.since(&before);
        let measured = &mut self.outcome.sides[side as usize];
        measured.slices += 1;
        match Figures::new(&slice, spent) {
            Some(figures) if slice.faults.total() == 0 => Ok(Some(CleanSlice { figures, slice, spent })),
            _ => {
                measured.failed_slices += 1;
                measured.failed.append(&slice);
                Ok(None)
            }
        }
    }

    fn random_order(&mut self) -> [Side; 2] {
        if self.random.bool() { [Side::A, Side::B] } else { [Side::B, Side::A] }
    }

    /// Whether going on would only lose more requests.
    const fn is_hopeless(&self) -> bool {
        self.failed_in_a_row >= FAILED_PAIRS_MAX
    }
}

/// A slice without a lost request.
struct CleanSlice {
    figures: Figures,
    slice: Slice,
    spent: Spent,
}

/// What a server has used so far; if that cannot be read because it has ended,
/// then that is the error.
fn usage(server: &mut Server) -> Result<Usage, ComparisonError> {
    server.check()?;
    match Usage::when_idle(server.pid()) {
        Ok(usage) => Ok(usage),
        Err(error) => {
            server.check()?;
            Err(error.into())
        }
    }
}

/// So many failed pairs in a row end the run.
const FAILED_PAIRS_MAX: usize = 3;
