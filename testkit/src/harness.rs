//! The harness: one case at a time, watched, and held to what it leaves behind.

use std::any::Any;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use corepool_core::backend::Backend;
use corepool_os::StreamSocket;
use libtest_mimic::{Arguments, Failed, Trial};

use crate::cases;
use crate::process::{self, Held};

/// A case that takes longer than this is stuck. The slowest takes a few seconds on an idle machine.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// How long the kernel may take to tear down what a case has let go of: rings close asynchronously.
const TEARDOWN: Duration = Duration::from_secs(5);

/// A backend whose sockets are the kernel's: what the cases run against.
pub trait SocketBackend: Backend<Socket = StreamSocket> {}

impl<B: Backend<Socket = StreamSocket>> SocketBackend for B {}

/// A case that a backend is known to fail, and why that is right.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "written down by every backend")]
pub struct Difference {
    /// The name of the case, as the harness prints it.
    pub case: &'static str,
    /// Why the backend differs.
    pub reason: &'static str,
}

/// One case: a name and a function that panics when the backend fails it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(),
}

/// Runs every case against `B`, one at a time, with the arguments of this process as `cargo test` gives them.
///
/// A case that is among the `differences` is run too, and must fail.
pub fn run<B: SocketBackend>(differences: &[Difference]) -> ExitCode {
    let cases = cases::all::<B>();
    for difference in differences {
        if !cases.iter().any(|case| case.name == difference.case) {
            eprintln!("a difference is declared for `{}`, which is no case", difference.case);
            return ExitCode::FAILURE;
        }
    }
    if let Err(error) = process::raise_descriptor_limit() {
        eprintln!("the limit of open files cannot be raised, a crowd may not fit: {error}");
    }
    let trials = cases.into_iter().map(|case| {
        let difference = differences.iter().find(|difference| difference.case == case.name).copied();
        Trial::test(case.name, move || verdict(outcome(case, TEARDOWN), difference))
    });
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1); // descriptors are counted for the whole process
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn verdict(outcome: Result<(), Failed>, difference: Option<Difference>) -> Result<(), Failed> {
    match (outcome, difference) {
        (outcome, None) => outcome,
        (Err(_failed), Some(_known)) => Ok(()),
        (Ok(()), Some(known)) => {
            Err(format!("passes now; take it off the list of differences ({})", known.reason).into())
        }
    }
}

/// Runs a case on a thread of its own, and then looks at what is left of it.
fn outcome(case: Case, teardown: Duration) -> Result<(), Failed> {
    let before = Held::now();
    let (over, is_over) = channel::<()>();
    let thread = thread::Builder::new().name(case.name.into()).spawn(move || {
        let _over = over; // dropped at the end, panicking or not
        (case.run)();
    })?;
    if is_over.recv_timeout(STUCK_AFTER) == Err(RecvTimeoutError::Timeout) {
        return Err(format!("stuck for {STUCK_AFTER:?}").into());
    }
    thread.join().map_err(|panic| message(&*panic))?;
    before.expect_again(teardown)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since what a case leaves behind is looked for in the whole process.
    #[test]
    fn a_case_is_held_to_its_word_and_to_what_it_leaves_behind() {
        const KNOWN: Option<Difference> = Some(Difference { case: "a::case", reason: "it is so" });
        let judge = |run: fn(), difference| {
            let outcome = outcome(Case { name: "a::case", run }, Duration::from_millis(50));
            verdict(outcome, difference).map_err(|failed| failed.message().unwrap_or_default().to_owned())
        };
        assert_eq!(judge(|| {}, None), Ok(()));
        assert_eq!(judge(|| panic!("so {}", "bad"), None), Err("so bad".into()));
        let leak = || std::mem::forget(std::fs::File::open("/dev/null").unwrap());
        assert!(judge(leak, None).unwrap_err().starts_with("left behind"));
        assert_eq!(judge(|| panic!("as declared"), KNOWN), Ok(()));
        assert!(judge(|| {}, KNOWN).unwrap_err().contains("it is so"));
    }
}
