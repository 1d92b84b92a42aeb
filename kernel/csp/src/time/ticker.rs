//! Tickers (Go: time/tick.go).

use super::timer::{OfBubble, ticking, wait_for_tick};
use super::{Duration, Instant, saturating_ns};
use crate::chan::Receiver;
use alloc::sync::Arc;

/// Something that happens again and again: the moment is sent on its channel. Ticks that nobody received in time are
/// left out; the others keep their beat. While a tick lies there that nobody has taken, the ticker rests: it wakes no CPU and hides
/// no deadlock.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::time::{Duration, Ticker};
/// let ticker = Ticker::new(Duration::from_millis(1));
/// let first = ticker.recv();
/// assert!(ticker.recv() > first);
/// ticker.stop();
/// # });
/// ```
pub struct Ticker {
    timer: Arc<sched::timer::Timer>,
    rx: Receiver<Instant>,
    bubble: OfBubble,
}

impl Ticker {
    /// A ticker whose ticks are `period` apart, the first one a period from now (Go: `time.NewTicker`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant, Ticker};
    /// let begin = Instant::now();
    /// let ticker = Ticker::new(Duration::from_millis(1));
    /// assert!(ticker.recv() >= begin + Duration::from_millis(1));
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If `period` is zero; in a blocking call.
    pub fn new(period: Duration) -> Ticker {
        let (timer, rx) = ticking();
        let bubble = OfBubble::current();
        let ticker = Ticker { timer, rx, bubble };
        ticker.reset(period);
        ticker
    }

    /// The channel on which it ticks. The last receiver that is dropped, the ticker's own among them, stops it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{chan, select, time::{Duration, Ticker}};
    /// let (_tx, work) = chan::<u32>(0);
    /// let ticker = Ticker::new(Duration::from_millis(1));
    /// select! {
    ///     recv(work) -> _job => unreachable!(),
    ///     recv(ticker.receiver()) -> tick => assert!(tick.is_some()),
    /// }
    /// # });
    /// ```
    pub fn receiver(&self) -> &Receiver<Instant> {
        &self.rx
    }

    /// Waits for a tick; the moment at which it came. For ever if the ticker is stopped.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Ticker};
    /// let ticker = Ticker::new(Duration::from_millis(1));
    /// let (first, second) = (ticker.recv(), ticker.recv());
    /// assert!(second > first);
    /// # });
    /// ```
    pub fn recv(&self) -> Instant {
        wait_for_tick(&self.rx)
    }

    /// No tick comes after this, not even one that was sent and not received (Go: `Ticker.Stop`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Ticker, sleep};
    /// let ticker = Ticker::new(Duration::from_millis(1));
    /// sleep(Duration::from_millis(3));
    /// ticker.stop();
    /// assert!(ticker.receiver().try_recv().is_err());
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it was made in a [bubble](crate::synctest) and the caller is not of it.
    pub fn stop(&self) {
        self.bubble.check();
        self.timer.stop();
    }

    /// Ticks every `period` from now on (Go: `Ticker.Reset`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Ticker};
    /// let ticker = Ticker::new(Duration::from_secs(3600));
    /// ticker.reset(Duration::from_millis(1));
    /// ticker.recv(); // not in an hour
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If `period` is zero; in a blocking call; as [`stop`](Ticker::stop).
    pub fn reset(&self, period: Duration) {
        assert!(!period.is_zero(), "a ticker's period is zero");
        self.timer
            .reset(self.bubble.deadline_ns(period), saturating_ns(period));
    }
}
