//! Timers (Go: time/sleep.go, `Timer`, `After`, `AfterFunc`; runtime/time.go for what they rest on).

use super::{Duration, Instant, saturating_ns};
use crate::chan::{self, Receiver, TickTo, never};
use crate::frames::Frame;
use crate::sync::Mutex;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::panic::Location;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
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
    bubble: OfBubble,
}

/// The bubble that a timer was made in.
pub(super) struct OfBubble(u64);

impl OfBubble {
    /// The caller's.
    pub(super) fn current() -> OfBubble {
        OfBubble(sched::bubble::current_id())
    }

    /// Timers of a bubble are for its goroutines (Go: "stop of synctest timer from outside bubble").
    pub(super) fn check(&self) {
        if self.0 != 0 && self.0 != sched::bubble::current_id() {
            panic!("a timer of a bubble is used from outside")
        }
    }

    /// The moment `d` from now by the clock that the timer goes by, which is checked to be in reach.
    pub(super) fn deadline_ns(&self, d: Duration) -> u64 {
        self.check();
        let now_ns = if self.0 == 0 {
            sched::program_now_ns()
        } else {
            sched::now_ns()
        };
        // The last of all numbers stands for "never".
        now_ns.saturating_add(saturating_ns(d)).min(u64::MAX - 1)
    }
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
    fn fire(&self, now_ns: u64) -> bool {
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
    f: Arc<Runs<F>>,
    at: &'static Location<'static>,
    /// The next goroutine has the handle's part.
    last: AtomicBool,
}

/// What runs, for as long as somebody may run it. A heap may keep the timer for longer: an entry of it that is stale goes only
/// when its time has come.
struct Runs<F> {
    /// None once nobody can run it any more.
    f: Mutex<Option<F>>,
    /// The handle, and each goroutine that runs it or is about to, has a part.
    parts: AtomicUsize,
}

impl<F: FnMut()> Runs<F> {
    fn run(&self) {
        let mut f = self.f.lock_durably(); // all runs are in the timer's bubble
        let run = Run {
            frame: Frame::new(Run::<F>::leave),
            runs: self,
        };
        if let Some(f) = f.as_mut() {
            // SAFETY: `leave` is for a `Run` of this F, and `self` outlives this frame.
            unsafe { Frame::within(&run, |r| &r.frame, f) }
        }
        drop(f);
        self.part_ends()
    }

    fn part_ends(&self) {
        // AcqRel: pairs with itself: the last one comes after all others.
        if self.parts.fetch_sub(1, AcqRel) == 1 {
            let f = self.f.try_lock().and_then(|mut f| f.take()); // nobody has the lock any more
            drop(f)
        }
    }
}

/// A run that is under way.
#[repr(C)]
struct Run<'a, F> {
    frame: Frame,
    runs: &'a Runs<F>,
}

impl<F: FnMut()> Run<'_, F> {
    /// The function ends its goroutine: that run is over.
    ///
    /// # Safety
    ///
    /// `frame` is that of a `Run` whose function runs.
    unsafe fn leave(frame: *const Frame) {
        // SAFETY: the caller's promise.
        let runs = unsafe { (*frame.cast::<Self>()).runs };
        // SAFETY: this is the goroutine that runs it, whose frames with the guard are left.
        unsafe { runs.f.unlock_left() };
        runs.part_ends()
    }
}

impl<F: FnMut() + Send + 'static> Fire for Start<F> {
    fn fire(&self, _now_ns: u64) -> bool {
        if !self.last.load(Relaxed) {
            self.f.parts.fetch_add(1, Relaxed);
        }
        let f = self.f.clone();
        sched::newproc(move || f.run(), self.at);
        true
    }
    fn drops_foreign(&self) -> bool {
        // Acquire: pairs with `part_ends`. At 0 whoever brought it there has the function, or has dropped it; no lock is taken, which
        // would be in the way of that.
        self.f.parts.load(Acquire) != 0
    }
    fn fires_last(&self) {
        self.last.store(true, Relaxed) // the timer's lock orders it
    }
    fn give_up(&self) {
        self.f.part_ends()
    }
}

impl Timer {
    /// A timer that fires once, `d` from now, on its channel (Go: `time.NewTimer`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant, Timer};
    /// let begin = Instant::now();
    /// let timer = Timer::new(Duration::from_millis(1));
    /// assert!(timer.recv() >= begin + Duration::from_millis(1));
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// In a blocking call (`blocking(f)`); so do [`reset`](Timer::reset) and the other functions that set timers.
    pub fn new(d: Duration) -> Timer {
        let (timer, rx) = ticking();
        let bubble = OfBubble::current();
        timer.reset(bubble.deadline_ns(d), 0);
        Timer { timer, rx, bubble }
    }

    /// The channel on which it fires; [`never()`](crate::never()) for one of [`after_func`]. The last receiver that is
    /// dropped, the timer's own among them, stops it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{never, select, time::{Duration, Timer}};
    /// let timer = Timer::new(Duration::from_millis(1));
    /// select! {
    ///     recv(never::<u32>()) -> _job => unreachable!(),
    ///     recv(timer.receiver()) -> now => assert!(now.is_some()),
    /// }
    /// # });
    /// ```
    pub fn receiver(&self) -> &Receiver<Instant> {
        &self.rx
    }

    /// Waits until it fires; the moment at which it did. For ever if it is stopped, or one of [`after_func`].
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Instant, Timer};
    /// let fired = Timer::new(Duration::from_millis(1)).recv();
    /// assert!(fired <= Instant::now());
    /// # });
    /// ```
    pub fn recv(&self) -> Instant {
        wait_for_tick(&self.rx)
    }

    /// Stops it. True: it was running, or what it sent was not received yet, and never will be (Go: `Timer.Stop`). False:
    /// it had fired, and what it sent was received or its function was started, or it was stopped before.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Timer};
    /// let timer = Timer::new(Duration::from_secs(3600));
    /// assert!(timer.stop()); // it was running
    /// assert!(!timer.stop());
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it was made in a [bubble](crate::synctest) and the caller is not of it.
    pub fn stop(&self) -> bool {
        self.bubble.check();
        self.timer.stop()
    }

    /// The same for whoever lets go of a timer of its own, wherever that happens.
    pub(crate) fn forget(&self) {
        self.timer.stop();
    }

    /// Sets it to fire `d` from now. The answer is that of [`stop`](Timer::stop) (Go: `Timer.Reset`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::time::{Duration, Timer};
    /// let timer = Timer::new(Duration::from_secs(3600));
    /// assert!(timer.reset(Duration::from_millis(1))); // it was running
    /// timer.recv();
    /// assert!(!timer.reset(Duration::from_millis(1))); // it had fired
    /// timer.recv();
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`stop`](Timer::stop), and in a blocking call.
    pub fn reset(&self, d: Duration) -> bool {
        self.timer.reset(self.bubble.deadline_ns(d), 0)
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
/// dropping it does neither. Set anew while `f` still runs, the next run waits for that one to end (Go's runs overlap).
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
        f: Arc::new(Runs {
            f: Mutex::new(Some(f)),
            parts: AtomicUsize::new(1),
        }),
        at: Location::caller(),
        last: AtomicBool::new(false),
    };
    let timer = sched::timer::Timer::new(Box::new(start));
    let bubble = OfBubble::current();
    timer.reset(bubble.deadline_ns(d), 0);
    Timer {
        timer,
        rx: never(),
        bubble,
    }
}
