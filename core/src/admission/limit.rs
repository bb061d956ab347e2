//! What sets the limit of a worker: once ([`Fixed`], [`Unlimited`]), or continually ([`Adaptive`]).

use std::fmt::Debug;
use std::time::Duration;

use crate::check::within;
use crate::error::StartError;

/// Decides how many connections, or requests, each worker serves at a time.
///
/// It is a factory of controllers, one for each worker, which are asked again and again.
pub trait Admission: Debug + Send + Sync + 'static {
    /// Checks itself, before anything starts.
    ///
    /// # Errors
    /// A value is out of range: a [`StartError::Config`].
    fn check(&self) -> Result<(), StartError> {
        Ok(())
    }

    /// The limit that a worker begins with. It is lowered to what the server allows at the most.
    fn first(&self) -> u32;

    /// What adjusts a worker's limit later; `None` if nothing does.
    fn controller(&self) -> Option<Box<dyn Controller>> {
        None
    }
}

/// Adjusts the limit of one worker.
pub trait Controller: Debug + Send {
    /// The limit from now on, after a look at the last period. Called at each sweep, every 0.4 s.
    fn adjust(&mut self, observed: &Observed) -> u32;
}

/// What happened on one worker since it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Observed {
    /// The limit that was in force.
    pub limit: u32,
    /// How many permits were taken at once, at the most.
    pub peak: u32,
    /// How many permits were given back.
    pub served: u64,
    /// How long these were held, on average.
    pub mean_service: Duration,
}

impl Observed {
    /// What was observed.
    pub fn new(limit: u32, peak: u32, served: u64, mean_service: Duration) -> Self {
        Self { limit, peak, served, mean_service }
    }
}

/// The same limit, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is its number")]
pub struct Fixed(
    /// How many at a time, at least one.
    pub u32,
);

impl Admission for Fixed {
    fn check(&self) -> Result<(), StartError> {
        within("limit", self.0, 1, u32::MAX)
    }

    fn first(&self) -> u32 {
        self.0
    }
}

/// No limit but that of sockets, `max_connections`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to say about it")]
pub struct Unlimited;

impl Admission for Unlimited {
    fn first(&self) -> u32 {
        u32::MAX
    }
}

/// A limit that finds itself, between two fixed bounds, from the delay that load adds to serving.
///
/// While permits are held about as long as at the lowest load seen, work does not queue behind a permit, and
/// the limit grows whenever it was reached: it doubles until work has queued for the first time, and from then on it
/// grows by its square root. When permits are held longer than `tolerance` times that, work waits for the core or for
/// something behind it, and the limit shrinks by a tenth. So it is there within seconds, and stays near. Every 64
/// periods the limit is halved for one period, and how long permits are held then is the new measure: so that a change
/// of the work is followed, and constant load does not pass for none.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Adaptive {
    /// The lower bound.
    pub least: u32,
    /// The upper bound.
    pub most: u32,
    /// How much longer than at low load serving may take, as a factor above 1. Default: 2.
    pub tolerance: f64,
}

impl Adaptive {
    /// Between these bounds; it begins at the lower one.
    pub fn between(least: u32, most: u32) -> Self {
        Self { least, most, tolerance: 2.0 }
    }

    /// Another tolerance.
    #[must_use]
    pub fn tolerance(mut self, factor: f64) -> Self {
        self.tolerance = factor;
        self
    }
}

impl Admission for Adaptive {
    fn check(&self) -> Result<(), StartError> {
        within("admission.least", self.least, 1, self.most.max(1))?;
        within("admission.most", self.most, self.least, u32::MAX)?;
        if self.tolerance > 1.0 && self.tolerance.is_finite() {
            return Ok(());
        }
        Err(StartError::Config {
            field: "admission.tolerance",
            value: self.tolerance.to_string(),
            allowed: "a factor above 1 is allowed".into(),
        })
    }

    fn first(&self) -> u32 {
        self.least
    }

    fn controller(&self) -> Option<Box<dyn Controller>> {
        Some(Box::new(Climber {
            bounds: *self,
            unloaded: None,
            has_queued: false,
            periods: 0,
            probed_from: None,
        }))
    }
}

/// The controller of [`Adaptive`].
#[derive(Debug)]
struct Climber {
    bounds: Adaptive,
    /// How long a permit is held when nothing queues.
    unloaded: Option<Duration>,
    /// Work has queued before: the limit is known about, and steps are small.
    has_queued: bool,
    periods: u32,
    /// The limit to go back to, in a period of low load.
    probed_from: Option<u32>,
}

/// How many periods pass from one look at low load to the next.
const PROBE_EVERY: u32 = 64;
/// What is left of a limit that was too high.
const SHRINK: f64 = 0.9;

impl Controller for Climber {
    fn adjust(&mut self, observed: &Observed) -> u32 {
        let Adaptive { least, most, tolerance } = self.bounds;
        if observed.served == 0 {
            return observed.limit.clamp(least, most);
        }
        if let Some(limit) = self.probed_from.take() {
            self.unloaded = Some(observed.mean_service);
            return limit.clamp(least, most);
        }
        self.periods += 1;
        if self.periods.is_multiple_of(PROBE_EVERY) {
            self.probed_from = Some(observed.limit);
            return (observed.limit / 2).clamp(least, most);
        }
        let unloaded = self.unloaded.map_or(observed.mean_service, |known| known.min(observed.mean_service));
        self.unloaded = Some(unloaded);
        let next = if observed.mean_service > unloaded.mul_f64(tolerance) {
            self.has_queued = true;
            // Truncated on purpose: a small limit shrinks, too.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a u32")]
            let shrunk = (f64::from(observed.limit) * SHRINK) as u32;
            shrunk
        } else if observed.peak >= observed.limit {
            let step = if self.has_queued { observed.limit.isqrt() } else { observed.limit };
            observed.limit.saturating_add(step)
        } else {
            observed.limit
        };
        next.clamp(least, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that serves `parallel` at a time without delay, and queues beyond; always asked for more.
    fn serve(limit: u32, parallel: u32) -> Observed {
        let service = Duration::from_millis(1).mul_f64((f64::from(limit) / f64::from(parallel)).max(1.0));
        Observed::new(limit, limit, 1000, service)
    }

    fn settle(controller: &mut dyn Controller, mut limit: u32, parallel: u32) -> u32 {
        for _ in 0..500 {
            limit = controller.adjust(&serve(limit, parallel));
        }
        limit
    }

    #[test]
    fn it_climbs_to_where_work_begins_to_queue_and_follows_when_that_moves() {
        let mut controller = Adaptive::between(1, 1000).controller().expect("it adapts");
        let limit = settle(&mut *controller, 1, 40);
        assert!((60..=120).contains(&limit), "{limit} for 40 at a time, tolerance 2");
        let lower = settle(&mut *controller, limit, 10);
        assert!((10..=60).contains(&lower), "{lower} for 10 at a time");
    }

    #[test]
    fn it_is_where_it_shall_be_within_seconds_and_then_takes_small_steps() {
        let mut controller = Adaptive::between(8, 512).controller().expect("it adapts");
        let climb = |controller: &mut dyn Controller, from, periods| {
            (0..periods).fold(from, |limit, _| controller.adjust(&serve(limit, 300)))
        };
        assert_eq!(climb(&mut *controller, 8, 6), 512, "six periods are 2.4 s");
        let slow = Observed::new(512, 512, 1000, Duration::from_millis(10));
        assert_eq!(controller.adjust(&slow), 460);
        assert_eq!(climb(&mut *controller, 100, 1), 110, "it has overshot once, and doubles no more");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let mut controller = Adaptive::between(4, 8).controller().expect("it adapts");
        assert_eq!(settle(&mut *controller, 4, 1000), 8);
        let slow = Observed::new(4, 4, 10, Duration::from_secs(1));
        controller.adjust(&Observed::new(8, 8, 10, Duration::from_millis(1)));
        assert_eq!(controller.adjust(&slow), 4);
    }

    #[test]
    fn a_limit_that_is_not_reached_does_not_grow_and_nothing_served_says_nothing() {
        let mut controller = Adaptive::between(1, 100).controller().expect("it adapts");
        let easy = Observed::new(10, 5, 100, Duration::from_millis(1));
        assert_eq!(controller.adjust(&easy), 10);
        assert_eq!(controller.adjust(&Observed::new(10, 10, 0, Duration::ZERO)), 10);
    }

    /// What a limit becomes when permits were held so long, after they were held one millisecond.
    fn after(limit: u32, peak: u32, held: Duration) -> u32 {
        let mut controller = Adaptive::between(1, 1000).controller().expect("it adapts");
        controller.adjust(&Observed::new(limit, limit, 1, Duration::from_millis(1)));
        controller.adjust(&Observed::new(limit, peak, 1, held))
    }

    #[test]
    fn a_limit_that_is_too_high_loses_a_tenth_and_at_least_one() {
        let too_long = Duration::from_micros(2001);
        assert_eq!([100, 25, 9, 1].map(|limit| after(limit, limit, too_long)), [90, 22, 8, 1]);
        assert_eq!(after(100, 100, Duration::from_millis(2)), 200, "as long as is tolerated");
        assert_eq!(after(100, 101, Duration::from_millis(1)), 200, "some were forced");
        assert_eq!(after(100, 99, Duration::from_millis(2)), 100);
    }

    #[test]
    fn now_and_then_the_limit_is_halved_for_a_period_and_what_is_seen_then_is_the_measure() {
        let mut controller = Adaptive::between(1, 200).controller().expect("it adapts");
        let mut adjust =
            |limit, millis| controller.adjust(&Observed::new(limit, limit, 1, Duration::from_millis(millis)));
        assert_eq!((1..PROBE_EVERY).fold(1, |limit, _| adjust(limit, 1)), 200);
        assert_eq!(adjust(200, 1), 100);
        assert_eq!(adjust(100, 10), 200, "and back");
        assert_eq!(adjust(200, 15), 200, "work takes longer now");
        assert_eq!(adjust(200, 21), 180);
        assert_eq!(adjust(180, 20), 193, "it has queued: by small steps from now on");
    }

    #[test]
    fn a_worker_begins_with_the_lowest_limit_or_the_only_one() {
        let admissions: [&dyn Admission; 3] = [&Fixed(7), &Unlimited, &Adaptive::between(5, 9)];
        assert_eq!(admissions.map(Admission::first), [7, u32::MAX, 5]);
        assert_eq!(admissions.map(|admission| admission.controller().is_some()), [false, false, true]);
    }

    #[test]
    fn wrong_bounds_are_refused_by_name() {
        let refused = |adaptive: Adaptive| adaptive.check().expect_err("refused").to_string();
        assert!(refused(Adaptive::between(0, 5)).starts_with("admission.least is 0"));
        assert!(refused(Adaptive::between(6, 5)).starts_with("admission.least is 6"));
        assert!(refused(Adaptive::between(1, 5).tolerance(1.0)).starts_with("admission.tolerance is 1"));
        assert!(refused(Adaptive::between(1, 5).tolerance(f64::NAN)).starts_with("admission.tolerance"));
        assert!(refused(Adaptive::between(1, 5).tolerance(f64::INFINITY)).starts_with("admission.tolerance"));
        assert!(Adaptive::between(1, 1).tolerance(1.01).check().is_ok());
        assert!(Fixed(0).check().is_err() && Fixed(1).check().is_ok());
    }
}
