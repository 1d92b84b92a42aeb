//! Time: monotonic instants, sleep, timers and tickers. [`Duration`] is `core`'s.

mod ticker;
mod timer;
#[cfg(test)]
mod timer_tests;

pub use ticker::Ticker;
pub use timer::{Timer, after, after_func};

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};
pub use core::time::Duration;

/// A moment of the machine's monotonic clock, counted from its start. Sums and differences that leave its range of 584
/// years are cut to it (Go: `time.Time` with a monotonic reading).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::time::{Duration, Instant};
/// let begin = Instant::now();
/// let end = begin + Duration::from_secs(1);
/// assert_eq!(end - begin, Duration::from_secs(1));
/// assert_eq!(begin - end, Duration::ZERO); // never negative
/// assert_eq!(begin.checked_duration_since(end), None);
/// assert!(begin.elapsed() < Duration::from_secs(3600) && begin.since_start() > Duration::ZERO);
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    ns: u64,
}

/// A duration in ns, cut to what a `u64` holds.
pub(crate) fn saturating_ns(d: Duration) -> u64 {
    d.as_nanos().try_into().unwrap_or(u64::MAX)
}

impl Instant {
    /// `ns` nanoseconds after the machine's start.
    pub(crate) fn from_ns(ns: u64) -> Instant {
        Instant { ns }
    }

    /// Now.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// let (a, b) = (Instant::now(), Instant::now());
    /// assert!(b >= a); // it never goes back
    /// # });
    /// ```
    pub fn now() -> Instant {
        Instant {
            ns: sched::now_ns(),
        }
    }

    /// Time since this moment; zero if it lies ahead.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant, sleep};
    /// let begin = Instant::now();
    /// sleep(Duration::from_millis(1));
    /// assert!(begin.elapsed() >= Duration::from_millis(1));
    /// # });
    /// ```
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// Time since `earlier`; zero if that is later.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let begin = Instant::now();
    /// let end = begin + Duration::from_millis(7);
    /// assert_eq!(end.duration_since(begin), Duration::from_millis(7));
    /// assert_eq!(begin.duration_since(end), Duration::ZERO);
    /// # });
    /// ```
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }

    /// Time since `earlier`, `None` if that is later.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let begin = Instant::now();
    /// let end = begin + Duration::from_secs(1);
    /// assert_eq!(end.checked_duration_since(begin), Some(Duration::from_secs(1)));
    /// assert_eq!(begin.checked_duration_since(end), None);
    /// # });
    /// ```
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.ns.checked_sub(earlier.ns).map(Duration::from_nanos)
    }

    /// This moment and `d`, `None` if the clock never gets there.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let now = Instant::now();
    /// assert_eq!(now.checked_add(Duration::from_secs(1)), Some(now + Duration::from_secs(1)));
    /// assert_eq!(now.checked_add(Duration::MAX), None);
    /// # });
    /// ```
    pub fn checked_add(&self, d: Duration) -> Option<Instant> {
        let ns = self.ns.checked_add(d.as_nanos().try_into().ok()?)?;
        Some(Instant { ns })
    }

    /// This moment less `d`, `None` if that is before the machine's start.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant};
    /// let now = Instant::now();
    /// assert_eq!(now.checked_sub(Duration::ZERO), Some(now));
    /// assert_eq!(now.checked_sub(now.since_start() + Duration::from_secs(1)), None);
    /// # });
    /// ```
    pub fn checked_sub(&self, d: Duration) -> Option<Instant> {
        let ns = self.ns.checked_sub(d.as_nanos().try_into().ok()?)?;
        Some(Instant { ns })
    }

    /// Time since the machine's start.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::Instant;
    /// let (a, b) = (Instant::now(), Instant::now());
    /// assert_eq!(b - a, b.since_start() - a.since_start());
    /// # });
    /// ```
    pub fn since_start(&self) -> Duration {
        Duration::from_nanos(self.ns)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, d: Duration) -> Instant {
        Instant {
            ns: self.ns.saturating_add(saturating_ns(d)),
        }
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, d: Duration) -> Instant {
        Instant {
            ns: self.ns.saturating_sub(saturating_ns(d)),
        }
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Instant({:?})", self.since_start())
    }
}

/// Parks the calling goroutine for at least `d` (Go: `time.Sleep`). Zero returns at once.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::time::{Duration, Instant, sleep};
/// let begin = Instant::now();
/// sleep(Duration::from_millis(2));
/// assert!(begin.elapsed() >= Duration::from_millis(2));
/// # });
/// ```
pub fn sleep(d: Duration) {
    if !d.is_zero() {
        sched::sleep_ns(saturating_ns(d));
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, sleep};

    #[test]
    fn arithmetic_saturates() {
        sched::testing::run(1, 1, || {
            let now = Instant::now();
            let end = now + Duration::MAX;
            assert_eq!(end, end + Duration::from_secs(1));
            assert_eq!(now.checked_add(Duration::MAX), None);
            assert_eq!(now.checked_sub(Duration::MAX), None);
            assert_eq!(now - end, Duration::ZERO);
            let later = now + Duration::from_millis(3);
            assert_eq!(later - now, Duration::from_millis(3));
            assert_eq!(now.checked_duration_since(later), None);
        });
    }

    #[test]
    fn sleep_lasts_at_least_as_long() {
        sched::testing::run(2, 2, || {
            for ms in [1, 5, 20] {
                let (start, d) = (Instant::now(), Duration::from_millis(ms));
                sleep(d);
                assert!(start.elapsed() >= d);
            }
            sleep(Duration::ZERO);
        });
    }

    /// With a clock that jumps: it does so when all are asleep, so that nobody comes too late to sleep, and whoever it wakes has his
    /// turn before it jumps again.
    #[test]
    fn sleepers_wake_in_order_of_their_deadlines() {
        let cfg = base::config::Config {
            procs: Some(2),
            clock: base::config::Clock::Virtual,
            ..base::config::Config::DEFAULT
        };
        sched::testing::run_with(cfg, 2, || {
            let mut rng = base::Rng::new(5);
            for _ in 0..20 {
                let (tx, rx) = crate::chan(64);
                for _ in 0..64 {
                    let tx = tx.clone();
                    let d = Duration::from_nanos(1 + u64::from(rng.below(1 << 30)));
                    crate::go(move || {
                        sleep(d);
                        tx.send(d).unwrap();
                    });
                }
                drop(tx);
                let woken: std::vec::Vec<_> = rx.iter().collect();
                assert!(woken.len() == 64 && woken.is_sorted(), "{woken:?}");
            }
        });
    }
}
