//! What this process holds: descriptors and threads.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::iter;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the process held at one moment.
pub(crate) struct Held {
    descriptors: BTreeMap<String, PathBuf>,
    threads: usize,
}

impl Held {
    pub(crate) fn now() -> Self {
        Self { descriptors: descriptors(), threads: fs::read_dir("/proc/self/task").unwrap().count() }
    }

    /// Waits until the process holds no more than it did, for as long as `patience`.
    pub(crate) fn expect_again(&self, patience: Duration) -> Result<(), Failed> {
        let deadline = Instant::now() + patience;
        loop {
            let now = Self::now();
            if now.descriptors.len() <= self.descriptors.len() && now.threads <= self.threads {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(now.more_than(self).into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn more_than(&self, before: &Self) -> String {
        let new: Vec<_> =
            self.descriptors.iter().filter(|(name, _)| !before.descriptors.contains_key(*name)).collect();
        format!("left behind: descriptors {new:?}, {} threads", self.threads.saturating_sub(before.threads))
    }
}

/// How many descriptors are open.
pub(crate) fn descriptor_count() -> usize {
    descriptors().len()
}

/// Raises the limit of open files as far as it goes.
pub(crate) fn raise_descriptor_limit() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
}

/// How many bytes the kernel keeps for one connection at the most: both buffers of both ends.
pub(crate) fn kernel_buffers_max() -> usize {
    let most = |name| {
        let limits = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap();
        limits.split_whitespace().nth(2).and_then(|most| most.parse::<usize>().ok()).unwrap()
    };
    2 * (most("tcp_rmem") + most("tcp_wmem"))
}

/// How many connections wait to be accepted by the IPv4 listeners of a port.
pub(crate) fn accept_queue(port: u16) -> u64 {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let sockets = table.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_port =
        sockets.filter(|fields| fields[1].ends_with(&format!(":{port:04X}")) && fields[3] == LISTENING);
    of_port.map(|fields| u64::from_str_radix(fields[4].split(':').nth(1).unwrap(), 16).unwrap()).sum()
}

/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// No descriptor can be opened while this lives.
pub(crate) struct Exhausted {
    limit: Rlimit,
    _hoard: Vec<File>,
}

/// Takes every descriptor that is left.
pub(crate) fn exhaust_descriptors() -> Exhausted {
    let limit = getrlimit(Resource::Nofile);
    let highest = descriptors().keys().filter_map(|number| number.parse().ok()).max();
    let current: Option<u64> = highest.map(|highest: u64| highest + 1);
    setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }).unwrap();
    let hoard = iter::from_fn(|| File::open("/dev/null").ok()).collect();
    Exhausted { limit, _hoard: hoard }
}

impl Drop for Exhausted {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.limit).unwrap();
    }
}

fn descriptors() -> BTreeMap<String, PathBuf> {
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().to_string_lossy().into_owned(), target))
        })
        .filter(|(_, target)| !target.starts_with("/proc")) // the listing itself
        .collect()
}
