//! A condition variable (Go: `sync.Cond`, `notifyList` in `runtime/sema.go`).

use super::MutexGuard;
use crate::waitq::{Popped, WaitQueue, Waiter, unlock_then_ready};
use base::mutant::mutant;
use base::{Rank, SpinLock};
use core::fmt;
use core::ptr;
use sched::WaitReason;

/// Goroutines that wait for something to become true under a [`Mutex`](super::Mutex).
///
/// A signal goes to the one that has waited longest, and only to one that waited before it. There are no spurious
/// wake-ups, but others may have been faster at the lock: check again.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::sync::{Cond, Mutex};
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Cond = Cond::new();
/// csp::go(|| {
///     *READY.lock() = true;
///     CHANGED.notify_one();
/// });
/// let mut ready = READY.lock();
/// while !*ready {
///     ready = CHANGED.wait(ready);
/// }
/// # });
/// ```
pub struct Cond {
    waiters: SpinLock<WaitQueue>,
}

impl Default for Cond {
    fn default() -> Self {
        Cond::new()
    }
}

impl Cond {
    base::const_fn! {
        /// A condition that nobody waits for.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// use csp::sync::{Cond, Mutex};
        /// static QUEUE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
        /// static NOT_EMPTY: Cond = Cond::new(); // one condition, one mutex
        /// NOT_EMPTY.notify_one(); // nobody waits: lost
        /// assert!(QUEUE.lock().is_empty());
        /// # });
        /// ```
        pub const fn new() -> Cond {
            Cond {
                waiters: SpinLock::new(Rank::Channel, WaitQueue::new()),
            }
        }
    }

    /// Unlocks `guard`'s mutex, waits for a signal, locks again. No signal that comes after the unlocking is missed.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::sync::{Cond, Mutex};
    /// static ITEMS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    /// static MORE: Cond = Cond::new();
    /// csp::go(|| {
    ///     ITEMS.lock().push(7);
    ///     MORE.notify_one();
    /// });
    /// let mut items = ITEMS.lock();
    /// while items.is_empty() {
    ///     items = MORE.wait(items);
    /// }
    /// assert_eq!(*items, [7]);
    /// # });
    /// ```
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let mutex = guard.mutex();
        let w = Waiter::new(ptr::null_mut());
        // In the list before the mutex is free, so that who changes the condition afterwards finds us; `asleep` tells it
        // whether there is somebody to wake.
        w.asleep.set(mutant("cond_always_asleep"));
        if mutant("cond_enlists_late") {
            drop(guard);
            // SAFETY: as below.
            unsafe { self.waiters.lock().push_back(&w) };
        } else {
            // SAFETY: `w` lives in this frame, which we leave only when it is in no list.
            unsafe { self.waiters.lock().push_back(&w) };
            drop(guard);
        }
        let waiters = self.waiters.lock();
        if w.success.get() && !mutant("cond_no_recheck") {
            drop(waiters);
        } else {
            w.asleep.set(true);
            w.g.blocks_durably();
            sched::park_unlock(waiters, WaitReason::SyncCondWait);
        }
        mutex.lock()
    }

    /// Wakes the one that has waited longest, if there is one (Go: `Signal`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::{chan, sync::{Cond, Mutex}};
    /// static TURN: (Mutex<bool>, Cond) = (Mutex::new(false), Cond::new());
    /// let waiter = csp::spawn(|| {
    ///     let mut mine = TURN.0.lock();
    ///     while !*mine {
    ///         mine = TURN.1.wait(mine);
    ///     }
    /// });
    /// *TURN.0.lock() = true;
    /// TURN.1.notify_one();
    /// waiter.join();
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If that one is in a bubble ([`synctest`](crate::synctest)) and the caller is not.
    pub fn notify_one(&self) {
        let mut waiters = self.waiters.lock();
        if let Some(first) = waiters.pop() {
            check_bubble(&first);
            let asleep = first.waiter().asleep.get();
            // Under the lock: one that is awake leaves its frame as soon as it sees the mark.
            let g = first.succeed();
            if asleep {
                unlock_then_ready(waiters, g);
            }
        }
    }

    /// Wakes all that wait (Go: `Broadcast`).
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::sync::{Cond, Mutex};
    /// static GATE: (Mutex<bool>, Cond) = (Mutex::new(false), Cond::new());
    /// csp::scope(|s| {
    ///     for _ in 0..3 {
    ///         s.go(|| {
    ///             let mut open = GATE.0.lock();
    ///             while !*open {
    ///                 open = GATE.1.wait(open);
    ///             }
    ///         });
    ///     }
    ///     *GATE.0.lock() = true;
    ///     GATE.1.notify_all();
    /// });
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// As [`notify_one`](Self::notify_one), if one of them is.
    pub fn notify_all(&self) {
        let mut waiters = self.waiters.lock();
        let all = waiters.pop_all_that(check_bubble);
        drop(waiters);
        all.ready(true);
    }
}

/// Who waits on a condition in a bubble is durably blocked: nobody outside may be the one that wakes it.
fn check_bubble(first: &Popped) {
    assert!(
        !sched::bubble::is_foreign(first.waiter().g),
        "a goroutine of a bubble is woken from outside by a condition"
    )
}

impl fmt::Debug for Cond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cond")
    }
}
