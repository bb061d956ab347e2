//! What a transfer between workers costs, part by part, in CPU time of all threads that pay for it: the permit and the
//! mailbox, the wake of a worker that sleeps, the attach on another core than the one that accepted; and how often
//! a worker is woken for what others send it while all are busy. The totals are the lab's, in `docs/src/benchmarks.md`.
//!
//! `cargo bench --bench transfer --all-features`; under `cargo test` it runs tiny. Prints one line for each part.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "it prints what it finds")]

mod attach;
mod estimate;
mod load;
mod wake;

use corepool::Backend;
use corepool::backend::{Compio, Monoio, Tokio};
use corepool_core::cores::CoreId;

use crate::load::Load;
use crate::wake::{Core, Wake};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// Samples of each part.
    samples: usize,
    /// Wakes, or connections, of each sample.
    batch: usize,
    /// How long the load of each sample lasts, in milliseconds.
    load_ms: u64,
}

/// Where the two workers run.
#[derive(Debug, Clone, Copy)]
struct Cores {
    home: CoreId,
    other: CoreId,
}

fn main() {
    let scale = match std::env::args().any(|argument| argument == "--bench") {
        true => Scale { samples: 201, batch: 32, load_ms: 300 },
        false => Scale { samples: 4, batch: 4, load_ms: 20 },
    };
    let all = core_affinity::get_core_ids().unwrap_or_default();
    let (Some(home), Some(other)) = (all.first(), all.last()) else {
        return println!("this machine does not tell its cores");
    };
    let cores = Cores { home: CoreId(home.id), other: CoreId(other.id) };
    println!("permit and mailbox: {} us", wake::mailbox(scale));
    parts::<Tokio>(scale, cores);
    parts::<Compio>(scale, cores);
    parts::<Monoio>(scale, cores);
}

fn parts<B: Backend>(scale: Scale, cores: Cores) {
    let name = B::NAME;
    let [_idle, busy] = [(Core::Idle, "an idle"), (Core::Busy, "a busy")].map(|(core, what)| {
        let Wake { both, sender } = wake::of_a_sleeper::<B>(scale, cores, core);
        println!(
            "{name:>7} wake of a sleeper on {what} core: {both} us, of which the sender pays {sender} us"
        );
        both
    });
    let Load { batches, sleeps } = load::of_clients_that_come_and_go::<B>(scale);
    println!(
        "{name:>7} under load, for each transfer: {batches} looks that find it, {sleeps} sleeps of a worker"
    );
    let attach = attach::at_home_and_away::<B>(scale, cores);
    println!("{name:>7} attach: at home {} us, away {} us", attach.home, attach.away);
    println!("{name:>7} attach, away more than at home: {} us", attach.difference);
    println!("{name:>7} attach to close, away more than at home: {} us", attach.whole_difference);
    let wakes = busy.times(batches.least(sleeps)); // under load no core is idle
    let sum = wakes.plus(&wake::mailbox(scale)).plus(&attach.difference);
    println!("{name:>7} wakes of a transfer under load: {wakes} us; with mailbox and attach: {sum} us");
}
