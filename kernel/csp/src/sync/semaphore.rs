//! A counting semaphore (Go: `golang.org/x/sync/semaphore`, and `runtime/sema.go` below it).

use crate::waitq::{WaitQueue, Waiter, unlock_then_ready};
use base::mutant::mutant;
use base::{Rank, SpinLock};
use core::fmt;
use core::ptr;
use sched::WaitReason;

/// A number of permits. [`acquire`](Semaphore::acquire) takes one, [`release`](Semaphore::release) gives one back;
/// there is no guard, so that one goroutine may acquire and another release.
///
/// Permits go to waiters in order; a newcomer overtakes nobody. In a [bubble](crate::synctest) who waits is durably blocked, wherever
/// the semaphore was made (Go: each waiter makes a channel to wait on).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::sync::Semaphore;
/// static TWO_AT_A_TIME: Semaphore = Semaphore::new(2);
/// csp::scope(|s| {
///     for _ in 0..5 {
///         s.go(|| {
///             TWO_AT_A_TIME.acquire();
///             // at most two are here
///             TWO_AT_A_TIME.release();
///         });
///     }
/// });
/// assert_eq!(TWO_AT_A_TIME.available(), 2);
/// assert!(TWO_AT_A_TIME.try_acquire());
/// # });
/// ```
pub struct Semaphore {
    state: SpinLock<State>,
    /// Who waits in a bubble waits for the bubble.
    durable: bool,
}

struct State {
    permits: usize,
    waiters: WaitQueue,
}

impl Semaphore {
    base::const_fn! {
        /// A semaphore with `permits` permits.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// let connections = csp::sync::Semaphore::new(100);
        /// assert_eq!(connections.available(), 100);
        /// # });
        /// ```
        pub const fn new(permits: usize) -> Semaphore {
            Semaphore {
                state: SpinLock::new(
                    Rank::Channel,
                    State {
                        permits,
                        waiters: WaitQueue::new(),
                    },
                ),
                durable: true,
            }
        }
    }

    base::const_fn! {
        /// The same for what goroutines in [bubbles](crate::synctest) share with those outside, such as a device: waiting for it is
        /// not durable there, and whoever has a permit may give it back.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// use csp::{go, sync::Semaphore, synctest, time::{Duration, Instant, sleep}};
        /// static PRINTER: Semaphore = Semaphore::outside_bubbles(1);
        /// PRINTER.acquire();
        /// go(|| {
        ///     sleep(Duration::from_millis(1));
        ///     PRINTER.release()
        /// });
        /// synctest::run(|| {
        ///     let begin = Instant::now();
        ///     go(|| sleep(Duration::from_secs(3600)));
        ///     PRINTER.acquire();
        ///     assert_eq!(begin.elapsed(), Duration::ZERO); // the clock has waited as well
        ///     sleep(Duration::from_secs(3600));
        /// });
        /// # });
        /// ```
        pub const fn outside_bubbles(permits: usize) -> Semaphore {
            let mut semaphore = Semaphore::new(permits);
            semaphore.durable = false;
            semaphore
        }
    }

    /// Takes a permit, waits for one.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// static DONE: csp::sync::Semaphore = csp::sync::Semaphore::new(0);
    /// csp::go(|| DONE.release());
    /// DONE.acquire(); // waits for that
    /// # });
    /// ```
    pub fn acquire(&self) {
        let mut state = self.state.lock();
        if state.permits > 0 {
            state.permits -= 1;
            return;
        }
        if mutant("acquire_in_two_steps") {
            drop(state);
            state = self.state.lock()
        }
        let w = Waiter::new(ptr::null_mut());
        // SAFETY: `w` lives in this frame, which we leave only once it was popped; the popper's permit is ours.
        unsafe { state.waiters.push_back(&w) };
        if self.durable {
            w.g.blocks_durably()
        }
        sched::park_unlock(state, WaitReason::SemAcquire);
    }

    /// Takes a permit if one is free; says whether it did.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let one = csp::sync::Semaphore::new(1);
    /// assert!(one.try_acquire());
    /// assert!(!one.try_acquire());
    /// # });
    /// ```
    pub fn try_acquire(&self) -> bool {
        let mut state = self.state.lock();
        let free = state.permits > 0;
        state.permits -= usize::from(free);
        free
    }

    /// Gives a permit back: to the first waiter, if there is one.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let items = csp::sync::Semaphore::new(0);
    /// items.release(); // more than it began with: a count of things produced
    /// items.release();
    /// assert_eq!(items.available(), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If there are more permits than can be counted; if the first waiter is in a [bubble](crate::synctest) and the caller is not,
    /// unless it is a semaphore [for both](Self::outside_bubbles).
    pub fn release(&self) {
        let mut state = self.state.lock();
        if self.durable && state.waiters.first().is_some_and(sched::bubble::is_foreign) {
            drop(state);
            panic!("a goroutine of a bubble is woken from outside by a semaphore")
        }
        match state.waiters.pop() {
            Some(first) => {
                state.permits += usize::from(mutant("release_counts_twice"));
                unlock_then_ready(state, first.succeed())
            }
            None => match state.permits.checked_add(1) {
                Some(permits) => state.permits = permits,
                None => {
                    drop(state);
                    panic!("a semaphore is released more often than it can count")
                }
            },
        }
    }

    /// Permits that are free at this moment.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let seats = csp::sync::Semaphore::new(3);
    /// seats.acquire();
    /// assert_eq!(seats.available(), 2);
    /// # });
    /// ```
    pub fn available(&self) -> usize {
        self.state.lock().permits
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Semaphore({} free)", self.available())
    }
}
