//! What a server uses, from the kernel's accounting of each of its threads: CPU
//! time, context switches, page faults, memory; and what the processor counts,
//! by [`counters`].
//!
//! The kernel brings the figures of a thread up to date when it stops running.
//! That is why they are read only when every thread sleeps, which is soon after
//! the generator has its last reply. User and system time are known to a
//! hundredth of a second only, so their shares mean something over many slices.

pub mod counters;
mod per_request;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use procfs::process::{Process, Task};
use procfs::{ProcError, ProcResult};

pub use counters::{Counted, Counters, Counts};
pub use per_request::PerRequest;

/// What the threads of a process, and of those that it has started, have used
/// so far.
#[derive(Clone, Debug)]
pub struct Usage {
    threads: BTreeMap<i32, ThreadUsage>,
    resident_bytes: u64,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadUsage {
    /// When it started, which tells it from a later one with the same number.
    started: u64,
    cpu_ns: u64,
    user_ticks: u64,
    system_ticks: u64,
    voluntary: u64,
    involuntary: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// What a process has used between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spent {
    /// CPU time, user and kernel.
    pub cpu: Duration,
    /// The part of it in the program, to a hundredth of a second.
    pub user: Duration,
    /// The part of it in the kernel, to a hundredth of a second.
    pub system: Duration,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
    /// Those because it had nothing to do.
    pub voluntary: u64,
    /// Those because somebody else had something to do.
    pub involuntary: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// Memory that it had at the end; the most, over many slices.
    pub resident_bytes: u64,
    /// What could be counted besides.
    pub counts: Counts,
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
        let processes = family(pid)?;
        let deadline = Instant::now() + IDLE_WITHIN;
        while !is_idle(&processes)? && Instant::now() < deadline {
            thread::yield_now();
        }
        let readings = tasks(&processes)?.into_iter().filter_map(|task| reading(&task).transpose());
        Ok(Self {
            threads: readings.collect::<ProcResult<_>>()?,
            resident_bytes: processes.iter().filter_map(resident_bytes).sum(),
            counts: Counts::default(),
        })
    }

    /// Reads the figures of the calling thread, without its memory.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn of_this_thread() -> Result<Self, AccountingError> {
        let task = Process::myself()?.task_from_tid(rustix::thread::gettid().as_raw_nonzero().get())?;
        let threads = reading(&task)?.into_iter().collect();
        Ok(Self { threads, resident_bytes: 0, counts: Counts::default() })
    }

    /// The memory that is resident, of all the processes.
    #[must_use]
    pub const fn resident_bytes(&self) -> u64 {
        self.resident_bytes
    }

    /// With what has been counted at the same time.
    #[must_use]
    pub fn with(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }

    /// What has been used since an earlier reading of the same process.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Spent {
        let mut spent = Spent {
            resident_bytes: self.resident_bytes,
            counts: self.counts.since(&earlier.counts),
            ..Spent::default()
        };
        let mut ticks = (0, 0);
        for (id, now) in &self.threads {
            let then = earlier.threads.get(id).filter(|then| then.started == now.started);
            let then = then.copied().unwrap_or_default();
            spent.cpu += Duration::from_nanos(now.cpu_ns.saturating_sub(then.cpu_ns));
            ticks.0 += now.user_ticks.saturating_sub(then.user_ticks);
            ticks.1 += now.system_ticks.saturating_sub(then.system_ticks);
            spent.voluntary += now.voluntary.saturating_sub(then.voluntary);
            spent.involuntary += now.involuntary.saturating_sub(then.involuntary);
            spent.minor_faults += now.minor_faults.saturating_sub(then.minor_faults);
            spent.major_faults += now.major_faults.saturating_sub(then.major_faults);
        }
        let time = |ticks: u64| Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second() as f64);
        (spent.user, spent.system) = (time(ticks.0), time(ticks.1));
        spent.switches = spent.voluntary + spent.involuntary;
        let lives = |(id, then): (&i32, &ThreadUsage)| {
            self.threads.get(id).is_some_and(|now| now.started == then.started)
        };
        spent.threads_ended = earlier.threads.iter().filter(|&thread| !lives(thread)).count();
        spent
    }

    /// The CPU time that each thread has used since an earlier reading, the
    /// busiest first.
    #[must_use]
    pub fn busiest_since(&self, earlier: &Self) -> Vec<Duration> {
        let used = |(id, now): (&i32, &ThreadUsage)| {
            let then = earlier.threads.get(id).filter(|then| then.started == now.started);
            Duration::from_nanos(now.cpu_ns.saturating_sub(then.map_or(0, |then| then.cpu_ns)))
        };
        let mut threads: Vec<_> = self.threads.iter().map(used).collect();
        threads.sort_by(|one, other| other.cmp(one));
        threads
    }
}

impl Spent {
    /// Adds what was used in another slice.
    pub fn append(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.user += other.user;
        self.system += other.system;
        self.switches += other.switches;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.resident_bytes = self.resident_bytes.max(other.resident_bytes);
        self.counts.append(&other.counts);
        self.threads_ended += other.threads_ended;
    }
}

/// The threads of a process and of those that it has started, by number.
///
/// # Errors
/// When there is no such process.
pub fn threads(pid: u32) -> Result<Vec<i32>, AccountingError> {
    Ok(tasks(&family(pid)?)?.into_iter().map(|task| task.tid).collect())
}

/// The kernel's figures could not be had.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the CPU time of the server: {0}")]
pub struct AccountingError(#[from] ProcError);

/// A process and all that it has started, directly or not.
fn family(pid: u32) -> ProcResult<Vec<Process>> {
    let mut family = vec![Process::new(i32::try_from(pid).unwrap_or(i32::MAX))?];
    let mut next = 0;
    while next < family.len() {
        // One that ends while they are looked for is one that is not there.
        let tasks = family[next].tasks().into_iter().flatten().filter_map(Result::ok);
        let children: Vec<_> = tasks.filter_map(|task| task.children().ok()).flatten().collect();
        let children = children.into_iter().filter_map(|pid| Process::new(i32::try_from(pid).ok()?).ok());
        family.extend(children);
        next += 1;
    }
    Ok(family)
}

/// All threads. One that ends while they are listed is one that is not there; the
/// first process must be.
fn tasks(processes: &[Process]) -> ProcResult<Vec<Task>> {
    let mut tasks = Vec::new();
    for (index, process) in processes.iter().enumerate() {
        match process.tasks() {
            Ok(found) => tasks.extend(found.filter_map(Result::ok)),
            Err(error) if index == 0 => return Err(error),
            Err(_) => {}
        }
    }
    Ok(tasks)
}

fn is_idle(processes: &[Process]) -> ProcResult<bool> {
    for task in tasks(processes)? {
        match task.stat() {
            Ok(stat) if stat.state == 'R' => return Ok(false),
            Ok(_) | Err(ProcError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn resident_bytes(process: &Process) -> Option<u64> {
    Some(process.statm().ok()?.resident * procfs::page_size())
}

/// The figures of one thread; none if it has just ended.
fn reading(task: &Task) -> ProcResult<Option<(i32, ThreadUsage)>> {
    let read = || {
        let (status, stat) = (task.status()?, task.stat()?);
        Ok(ThreadUsage {
            started: stat.starttime,
            cpu_ns: task.schedstat()?.sum_exec_runtime,
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            voluntary: status.voluntary_ctxt_switches.unwrap_or(0),
            involuntary: status.nonvoluntary_ctxt_switches.unwrap_or(0),
            minor_faults: stat.minflt,
            major_faults: stat.majflt,
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
    use std::os::unix::process::CommandExt;

    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn usage<const N: usize>(threads: [(i32, u64, u64, u64); N]) -> Usage {
        let thread = |(id, started, cpu_ns, voluntary)| {
            (id, ThreadUsage { started, cpu_ns, voluntary, ..ThreadUsage::default() })
        };
        let threads = threads.into_iter().map(thread).collect();
        Usage { threads, resident_bytes: 0, counts: Counts::default() }
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
    fn the_busiest_thread_comes_first() {
        let before = usage([(1, 10, 500, 0), (2, 10, 9_000, 0)]);
        let after = usage([(1, 10, 900, 0), (2, 10, 9_100, 0), (3, 99, 200, 0)]);
        assert_eq!(after.busiest_since(&before), [400, 200, 100].map(Duration::from_nanos));
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
        let myself = [Process::myself().unwrap()];
        let read = || {
            let threads = tasks(&myself).unwrap().into_iter();
            let threads = threads.filter_map(|task| reading(&task).unwrap()).collect();
            Usage { threads, resident_bytes: 0, counts: Counts::default() }
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

    #[test]
    fn what_a_process_has_started_belongs_to_it() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 1000 & echo started; wait"])
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0; 8]).unwrap();
        let usage = Usage::when_idle(shell.id()).unwrap();
        assert_eq!(usage.threads.len(), 2);
        assert!(usage.resident_bytes > 100_000, "{usage:?}");
        let group = rustix::process::Pid::from_child(&shell);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
    }
}
