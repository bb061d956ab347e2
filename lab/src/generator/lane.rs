//! Which connection sends its next request, and when that was due. Knows no
//! socket and reads no clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Connections that are loaded alike.
#[derive(Debug)]
pub(super) struct Lane {
    /// Connections that could send a request now, once for each that they could.
    idle: VecDeque<usize>,
    pace: Pace,
}

/// When the next request is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// As soon as a connection is idle.
    AtOnce,
    /// At planned times, whether or not a connection is idle.
    Planned { next: Instant, interval: Duration },
    /// When others have had their share.
    Credits(u64),
}

impl Lane {
    /// With room for so many.
    pub(super) fn new(room: usize, pace: Pace) -> Self {
        Self { idle: VecDeque::with_capacity(room), pace }
    }

    pub(super) const fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
    }

    /// A connection can send a request again.
    pub(super) fn put(&mut self, key: usize) {
        self.idle.push_back(key);
    }

    /// That connection cannot send any more.
    pub(super) fn remove(&mut self, key: usize) {
        self.idle.retain(|&other| other != key);
    }

    /// A request may be sent that is not at once due.
    pub(super) const fn credit(&mut self) {
        if let Pace::Credits(count) = &mut self.pace {
            *count += 1;
        }
    }

    /// The next request to send now, if there is one: by whom, and when it was due.
    pub(super) fn take(&mut self, now: Instant) -> Option<(usize, Instant)> {
        let due = match &mut self.pace {
            Pace::AtOnce => now,
            Pace::Credits(0) => return None,
            Pace::Planned { next, .. } if *next > now => return None,
            Pace::Credits(_) | Pace::Planned { .. } if self.idle.is_empty() => return None,
            Pace::Credits(count) => {
                *count -= 1;
                now
            }
            Pace::Planned { next, interval } => {
                let due = *next;
                *next += *interval;
                due
            }
        };
        Some((self.idle.pop_front()?, due))
    }

    /// When it is worth asking again even if no connection becomes idle.
    pub(super) fn next_due(&self) -> Option<Instant> {
        match self.pace {
            Pace::Planned { next, .. } if !self.idle.is_empty() => Some(next),
            _ => None,
        }
    }

    /// How late each request was at the deadline that was due before it and could not be sent.
    pub(super) fn unsent(&self, deadline: Instant) -> impl Iterator<Item = Duration> + use<> {
        let mut rest = match self.pace {
            Pace::Planned { next, interval } => Some((next, interval)),
            _ => None,
        };
        std::iter::from_fn(move || {
            let (next, interval) = rest.filter(|(next, _)| *next < deadline)?;
            rest = Some((next + interval, interval));
            Some(deadline - next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn lane(pace: Pace) -> Lane {
        let mut lane = Lane::new(4, pace);
        (0..3).for_each(|key| lane.put(key));
        lane
    }

    #[test]
    fn whoever_is_idle_is_due_at_once() {
        let now = Instant::now();
        let mut lane = lane(Pace::AtOnce);
        let keys: Vec<_> = std::iter::from_fn(|| lane.take(now)).collect();
        assert_eq!(keys, [(0, now), (1, now), (2, now)]);
    }

    #[test]
    fn planned_requests_are_due_when_they_were_planned_however_late_they_are_sent() {
        let start = Instant::now();
        let mut lane = lane(Pace::Planned { next: start, interval: MS });
        assert_eq!(lane.take(start), Some((0, start)));
        assert_eq!(lane.take(start), None);
        assert_eq!(lane.next_due(), Some(start + MS));
        let late = start + 10 * MS;
        assert_eq!(lane.take(late), Some((1, start + MS)));
        assert_eq!(lane.take(late), Some((2, start + 2 * MS)));
        assert_eq!(lane.take(late), None);
        assert_eq!(lane.next_due(), None);
        lane.put(1);
        assert_eq!(lane.take(late), Some((1, start + 3 * MS)));
        let unsent: Vec<_> = lane.unsent(start + 6 * MS).collect();
        assert_eq!(unsent, [2 * MS, MS]);
    }

    #[test]
    fn a_credit_is_one_request() {
        let now = Instant::now();
        let mut lane = lane(Pace::Credits(0));
        assert_eq!(lane.take(now), None);
        lane.credit();
        assert_eq!(lane.take(now), Some((0, now)));
        assert_eq!(lane.take(now), None);
        assert_eq!(lane.unsent(now + MS).count(), 0);
    }
}
