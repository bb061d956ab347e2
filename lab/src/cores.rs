//! CPU cores: which ones this process may use, lists of them as the user writes
//! them, and pinning a thread to one.
//!
//! Who gets which core is decided in [`placement`](crate::placement).

use std::fmt;
use std::io;
use std::str::FromStr;
use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// A list of CPU cores in the order given, without repetitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<usize>", into = "Vec<usize>")]
pub struct Cores(Vec<usize>);

impl Cores {
    /// The cores of the affinity mask of this process, ascending.
    ///
    /// # Errors
    /// When the kernel does not tell the mask.
    pub fn allowed() -> io::Result<Self> {
        let mask = sched_getaffinity(None)?;
        Ok(Self((0..CpuSet::MAX_CPU).filter(|&core| mask.is_set(core)).collect()))
    }

    /// The core at this place of the list, counting round when it is longer
    /// than the list; `None` if the list is empty.
    #[must_use]
    pub fn wrapping(&self, index: usize) -> Option<usize> {
        self.0.get(index.checked_rem(self.0.len())?).copied()
    }

    /// How many cores these are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no core in the list.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the core is in the list.
    #[must_use]
    pub fn contains(&self, core: usize) -> bool {
        self.0.contains(&core)
    }

    /// The cores one by one.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Whether both lists name one and the same core.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.iter().any(|core| other.contains(core))
    }
}

impl From<Vec<usize>> for Cores {
    fn from(cores: Vec<usize>) -> Self {
        Self::from_iter(cores)
    }
}

impl From<Cores> for Vec<usize> {
    fn from(cores: Cores) -> Self {
        cores.0
    }
}

impl FromIterator<usize> for Cores {
    fn from_iter<I: IntoIterator<Item = usize>>(cores: I) -> Self {
        let mut list = Vec::new();
        for core in cores {
            if !list.contains(&core) {
                list.push(core);
            }
        }
        Self(list)
    }
}

impl FromStr for Cores {
    type Err = CoresError;

    fn from_str(text: &str) -> Result<Self, CoresError> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| digits.trim().parse::<usize>().ok();
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last && last < CpuSet::MAX_CPU => {
                    cores.extend(first..=last);
                }
                _ => return Err(CoresError(part.to_owned())),
            }
        }
        Ok(cores.into_iter().collect())
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, core) in self.iter().enumerate() {
            write!(f, "{}{core}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// A list of cores that could not be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a core or a range of cores; write for example `0,2-3`, up to {max}",
    max = CpuSet::MAX_CPU - 1
)]
pub struct CoresError(String);

/// Pins the calling thread to one core.
///
/// # Errors
/// When the core does not exist or the affinity mask does not allow it.
pub fn pin_current_thread(core: usize) -> io::Result<()> {
    let mut mask = CpuSet::new();
    mask.set(core);
    sched_setaffinity(None, &mask)
        .map_err(|error| io::Error::other(format!("cannot pin a thread to core {core}: {error}")))
}

/// Does this on a thread of its own, pinned to that core if there is one; processes that it starts are pinned with it.
///
/// # Errors
/// When the thread cannot be pinned, its work fails, or it panics.
pub fn on_core<T: Send>(core: Option<usize>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            core.map_or(Ok(()), pin_current_thread)?;
            work()
        });
        running.join().unwrap_or_else(|_panicked| Err(io::Error::other("a thread of the lab has panicked")))
    })
}

/// Keeps the calling thread, and those that it starts, on these cores.
///
/// # Errors
/// When one of them does not exist or the affinity mask allows none.
pub fn confine_current_thread(cores: &Cores) -> io::Result<()> {
    let mut mask = CpuSet::new();
    cores.iter().for_each(|core| mask.set(core));
    sched_setaffinity(None, &mask)
        .map_err(|error| io::Error::other(format!("cannot keep a thread on core {cores}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read_in_the_order_given_without_repetitions() {
        let cores: Cores = "3,0-2,1".parse().unwrap();
        assert_eq!(cores.to_string(), "3,0,1,2");
        assert_eq!(cores.wrapping(5), Some(0));
    }

    #[test]
    fn what_is_not_a_core_is_named_in_the_error() {
        for wrong in ["", "a", "2-1", "0,,1", "99999", "1-"] {
            assert!(wrong.parse::<Cores>().is_err(), "{wrong}");
        }
        let error = "0,x-2".parse::<Cores>().unwrap_err();
        assert!(error.to_string().contains("`x-2`"), "{error}");
    }

    #[test]
    fn a_thread_is_pinned_to_one_core_of_the_mask() {
        let core = Cores::allowed().unwrap().wrapping(0).unwrap();
        pin_current_thread(core).unwrap();
        assert_eq!(Cores::allowed().unwrap().to_string(), core.to_string());
    }
}
