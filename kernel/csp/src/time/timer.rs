//! Timers (Go: time/sleep.go, `Timer`, `After`, `AfterFunc`; runtime/time.go for what they rest on).

use super::{Duration, Instant, saturating_ns};
use crate::chan::{self, Receiver, TickTo, never};
use crate::sync::Mutex;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::panic::Location;
use sched::timer::Fire;

/// Something that happens once, after a while: a moment is sent on its channel, or a function runs.
///
/// Go's rules of 1.23: the channel looks unbuffered; what it sends is the moment of firing, whenever that is received;
/// after [`stop`](Timer::stop) and [`reset`](Timer::reset) nothing from before comes any more.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::time::{Duration, Timer};
/// let timer = Timer::new(Duration::from_secs(3600));
/// assert!(timer.reset(Duration::from_millis(1))); // it was running
/// timer.recv();
/// assert!(!timer.stop()); // it was not
/// # });
/// ```
pub struct Timer {
    timer: Arc<sched::timer::Timer>,
    rx: Receiver<Instant>,
}

/// Sends the moment of firing.
struct Tick(TickTo<Instant>);

/// A timer that is not set, and the channel on which it will send.
pub(super) fn ticking() -> (Arc<sched::timer::Timer>, Receiver<Instant>) {
    chan::of_timer(|to| sched::timer::Timer::new(Box::new(Tick(to))))
}

/// Waits for a tick. A channel that a receiver has closed gives none any more.
pub(super) fn wait_for_tick(rx: &Receiver<Instant>) -> Instant {
    match rx.recv() {
        Some(at) => at,
        None => chan::park_forever(sched::WaitReason::ChanReceive),
    }
}

impl Fire for Tick {
    fn fire(&self, now_ns: u64) {
        self.0.send(Instant::from_ns(now_ns))
    }
    fn take_back(&self) -> bool {
        self.0.take_back()
    }
    fn can_wake(&self) -> bool {
        self.0.is_waited_for()
    }
}

/// Starts a goroutine.
struct Start<F> {
    /// None once nobody can start it any more.
    f: Arc<Mutex<Option<F>>>,
    at: &'static Location<'static>,
}

impl<F: FnMut() + Send + 'static> Fire for Start<F> {
    fn fire(&self, _now_ns: u64) {
        let f = self.f.clone();
        sched::newproc(move || f.lock().as_mut().map_or((), |f| f()), self.at);
    }
    fn drops_foreign(&self) -> bool {
        self.f.try_lock().is_none_or(|f| f.is_some())
    }
    fn give_up(&self) {
        // A goroutine that runs it, or is about to, has a handle as well: it goes with that one.
        if Arc::strong_count(&self.f) == 1 {
            let f = self.f.try_lock().and_then(|mut f| f.take());
            drop(f)
        }
    }
}

/// The moment `d` from now, in ns since the machine's start.
pub(crate) fn deadline_ns(d: Duration) -> u64 {
    // The last of all numbers stands for "never".
    sched::now_ns()
        .saturating_add(saturating_ns(d))
        .min(u64::MAX - 1)
}

impl Timer {
    /// A timer that fires once, `d` from now, on its channel (Go: `time.NewTimer`).
    ///
    /// # Panics
    ///
    /// In a blocking call (`blocking(f)`); so do [`reset`](Timer::reset) and the other functions that set timers.
    pub fn new(d: Duration) -> Timer {
        let (timer, rx) = ticking();
        timer.reset(deadline_ns(d), 0);
        Timer { timer, rx }
    }

    /// The channel on which it fires; [`never()`](crate::never()) for one of [`after_func`]. The last receiver that is
    /// dropped, the timer's own among them, stops it.
    pub fn receiver(&self) -> &Receiver<Instant> {
        &self.rx
    }

    /// Waits until it fires; the moment at which it did. For ever if it is stopped, or one of [`after_func`].
    pub fn recv(&self) -> Instant {
        wait_for_tick(&self.rx)
    }

    /// Stops it. True: it was running, or what it sent was not received yet, and never will be (Go: `Timer.Stop`). False:
    /// it had fired, and what it sent was received or its function was started, or it was stopped before.
    pub fn stop(&self) -> bool {
        self.timer.stop()
    }

    /// Sets it to fire `d` from now. The answer is that of [`stop`](Timer::stop) (Go: `Timer.Reset`).
    pub fn reset(&self, d: Duration) -> bool {
        self.timer.reset(deadline_ns(d), 0)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // Stopped, and nobody left to set it anew: what its function holds is free now, not when its old heap entry goes.
        self.timer.give_up()
    }
}

/// A channel on which the moment is sent once `d` is over (Go: `time.After`). Dropping it stops the timer.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{never, select, time::{Duration, after}};
/// let late = select! {
///     recv(never::<()>()) -> _v => false,
///     recv(after(Duration::from_millis(1))) -> _at => true,
/// };
/// assert!(late);
/// # });
/// ```
pub fn after(d: Duration) -> Receiver<Instant> {
    Timer::new(d).rx.clone()
}

/// Runs `f` in a goroutine of its own once `d` is over (Go: `time.AfterFunc`). The answer stops it or sets it anew;
/// dropping it does neither. Set anew while `f` still runs, the next run waits for that one (Go's do not).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::{chan, time::{Duration, after_func}};
/// let (tx, rx) = chan(0);
/// after_func(Duration::from_millis(1), move || tx.send("late").unwrap());
/// assert_eq!(rx.recv(), Some("late"));
/// # });
/// ```
#[track_caller]
pub fn after_func<F: FnMut() + Send + 'static>(d: Duration, f: F) -> Timer {
    let start = Start {
        f: Arc::new(Mutex::new(Some(f))),
        at: Location::caller(),
    };
    let timer = sched::timer::Timer::new(Box::new(start));
    timer.reset(deadline_ns(d), 0);
    Timer { timer, rx: never() }
}
