//! CPU time and context switches of a server, from the kernel's accounting of
//! each of its threads.
//!
//! The kernel brings the figures of a thread up to date when it stops running.
//! That is why they are read only when every thread sleeps, which is soon after
//! the generator has its last reply.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{Process, Task};
use procfs::{ProcError, ProcResult};

/// What the threads of a process have used so far.
#[derive(Clone, Debug)]
pub struct Usage {
    threads: BTreeMap<i32, ThreadUsage>,
}

#[derive(Clone, Copy, Debug)]
struct ThreadUsage {
    /// When it started, which tells it from a later one with the same number.
    started: u64,
    cpu_ns: u64,
    switches: u64,
}

/// What a process has used between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// CPU time, user and kernel.
    pub cpu: Duration,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
    /// Threads that ended in between. What they used since the first reading is
    /// not counted.
    pub threads_ended: usize,
}

impl Usage {
    /// Reads the figures of a process once all its threads sleep, or after a
    /// tenth of a second if they do not.
    ///
    /// # Errors
    /// When there is no such process, or its figures cannot be read.
    pub fn when_idle(pid: u32) -> Result<Self, AccountingError> {
        let process = Process::new(i32::try_from(pid).unwrap_or(i32::MAX))?;
        let deadline = Instant::now() + IDLE_WITHIN;
        while !is_idle(&process)? && Instant::now() < deadline {
            thread::yield_now();
        }
        let threads =
            tasks(&process)?.filter_map(|task| reading(&task).transpose()).collect::<ProcResult<_>>()?;
        Ok(Self { threads })
    }

    /// What has been used since an earlier reading of the same process.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Spent {
        let mut spent = Spent::default();
        for (id, now) in &self.threads {
            let then = earlier.threads.get(id).filter(|then| then.started == now.started);
            let (cpu_ns, switches) = then.map_or((0, 0), |then| (then.cpu_ns, then.switches));
            spent.cpu += Duration::from_nanos(now.cpu_ns.saturating_sub(cpu_ns));
            spent.switches += now.switches.saturating_sub(switches);
        }
        let lives = |(id, then): (&i32, &ThreadUsage)| {
            self.threads.get(id).is_some_and(|now| now.started == then.started)
        };
        spent.threads_ended = earlier.threads.iter().filter(|&thread| !lives(thread)).count();
        spent
    }
}

/// The kernel's figures could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the CPU time of the server: {0}")]
pub struct AccountingError(#[from] ProcError);

fn tasks(process: &Process) -> ProcResult<impl Iterator<Item = Task> + use<>> {
    // A thread that ends while they are listed is one that is not there.
    Ok(process.tasks()?.filter_map(Result::ok))
}

fn is_idle(process: &Process) -> ProcResult<bool> {
    for task in tasks(process)? {
        match task.stat() {
            Ok(stat) if stat.state == 'R' => return Ok(false),
            Ok(_) | Err(ProcError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// The figures of one thread; none if it has just ended.
fn reading(task: &Task) -> ProcResult<Option<(i32, ThreadUsage)>> {
    let read = || {
        let status = task.status()?;
        let switches = |count: Option<u64>| count.unwrap_or(0);
        Ok(ThreadUsage {
            started: task.stat()?.starttime,
            cpu_ns: task.schedstat()?.sum_exec_runtime,
            switches: switches(status.voluntary_ctxt_switches) + switches(status.nonvoluntary_ctxt_switches),
        })
    };
    match read() {
        Ok(usage) => Ok(Some((task.tid, usage))),
        Err(ProcError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Far longer than a server needs to fall asleep after its last reply.
const IDLE_WITHIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn usage<const N: usize>(threads: [(i32, u64, u64, u64); N]) -> Usage {
        let thread = |(id, started, cpu_ns, switches)| {
            let usage = ThreadUsage { started, cpu_ns, switches };
            (id, usage)
        };
        Usage { threads: threads.into_iter().map(thread).collect() }
    }

    #[test]
    fn threads_that_end_or_begin_never_make_the_figures_negative() {
        let before = usage([(1, 10, 500, 5), (2, 10, 9_000, 90), (3, 10, 7_000, 70)]);
        // 2 is gone, the number 3 belongs to a new thread, 4 is new as well.
        let after = usage([(1, 10, 800, 7), (3, 99, 40, 1), (4, 99, 60, 2)]);
        let spent = after.since(&before);
        assert_eq!(spent.cpu, Duration::from_nanos(300 + 40 + 60));
        assert_eq!(spent.switches, 2 + 1 + 2);
        assert_eq!(spent.threads_ended, 2);
    }

    #[test]
    fn work_of_a_thread_is_seen_once_it_sleeps() {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (done, finished) = std::sync::mpsc::channel();
        let worker = thread::spawn(move || {
            wait.recv().unwrap();
            while clock_gettime(ClockId::ThreadCPUTime).tv_nsec < 20_000_000 {}
            done.send(()).unwrap();
            wait.recv().unwrap_err();
        });
        let process = Process::myself().unwrap();
        let read = || {
            let threads = tasks(&process).unwrap();
            let threads = threads.filter_map(|task| reading(&task).unwrap()).collect();
            Usage { threads }
        };
        let before = read();
        go.send(()).unwrap();
        finished.recv().unwrap();
        while read().since(&before).cpu < Duration::from_millis(20) {}
        drop(go);
        worker.join().unwrap();
    }

    #[test]
    fn no_such_process_is_an_error() {
        assert!(Usage::when_idle(u32::MAX).is_err());
    }
}
