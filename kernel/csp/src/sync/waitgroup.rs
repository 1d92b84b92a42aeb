//! Waiting for a number of goroutines (Go: `sync.WaitGroup`).

use crate::waitq::{WaitQueue, Waiter};
use alloc::sync::Arc;
use base::mutant::{mutant, order};
use base::shim::{AtomicI64, AtomicUsize, Ordering};
use base::{Rank, SpinLock};
use core::fmt;
use core::panic::Location;
use core::ptr;
use core::sync::atomic::AtomicU64;
use sched::{ExitHook, WaitReason};

/// Counts goroutines that are under way; [`wait`](WaitGroup::wait) returns when the count is 0. A clone is another
/// handle to the same counter.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let wg = csp::sync::WaitGroup::new();
/// for i in 0..10 {
///     wg.go(move || assert!(i < 10));
/// }
/// wg.wait();
/// # });
/// ```
#[derive(Clone, Default)]
pub struct WaitGroup {
    counter: Arc<Counter>,
}

impl WaitGroup {
    /// A group with count 0.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let wg = csp::sync::WaitGroup::new();
    /// wg.wait(); // nothing to wait for
    /// # });
    /// ```
    pub fn new() -> WaitGroup {
        WaitGroup::default()
    }

    /// Adds `n` to the count.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let wg = csp::sync::WaitGroup::new();
    /// wg.add(2);
    /// for _ in 0..2 {
    ///     let wg = wg.clone();
    ///     csp::go(move || wg.done());
    /// }
    /// wg.wait();
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If the count falls below 0, or rises from 0 while somebody waits; if the group is counted inside of a
    /// [bubble](crate::synctest) and outside, before it is at 0 again.
    #[track_caller]
    pub fn add(&self, n: i64) {
        self.counter.add(n);
    }

    /// Takes 1 from the count.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let wg = csp::sync::WaitGroup::new();
    /// wg.add(1);
    /// let theirs = wg.clone();
    /// csp::go(move || theirs.done());
    /// wg.wait();
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If it was 0; if it rose in a [bubble](crate::synctest) that the caller is not in, or outside and the caller is in one.
    #[track_caller]
    pub fn done(&self) {
        self.counter.add(-1);
    }

    /// Waits until the count is 0.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// static SUM: csp::sync::Mutex<u32> = csp::sync::Mutex::new(0);
    /// let wg = csp::sync::WaitGroup::new();
    /// for n in 1..=4 {
    ///     wg.go(move || *SUM.lock() += n);
    /// }
    /// wg.wait();
    /// assert_eq!(*SUM.lock(), 10);
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// If the group was used again before this call came back.
    #[track_caller]
    pub fn wait(&self) {
        self.counter.wait(WaitReason::SyncWaitGroupWait);
    }

    /// Starts a goroutine that counts until it has ended, be it by [`goexit`](crate::goexit) (Go: `WaitGroup.Go`).
    /// It does not call [`done`](Self::done) for that. When [`wait`](Self::wait) returns it is no longer counted in
    /// [`sched::num_goroutine`] either.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let wg = csp::sync::WaitGroup::new();
    /// wg.go(|| csp::goexit()); // counts out all the same
    /// wg.wait();
    /// # });
    /// ```
    #[track_caller]
    pub fn go<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.counter.add(1);
        let hook = self.counter.clone().into_hook();
        sched::newproc_hook(f, Location::caller(), hook);
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.counter.count.load(Ordering::Relaxed);
        write!(f, "WaitGroup({n})")
    }
}

/// The counter behind [`WaitGroup`] and `scope`.
///
/// The count is changed without the lock. Nobody is missed: a waiter looks at the count again under the lock before it
/// enters the list, and who brings the count to 0 takes the lock afterwards. If that one comes first, the waiter sees
/// 0; else it is in the list.
pub(crate) struct Counter {
    count: AtomicI64,
    /// Length of `waiters`, for the look of `change`.
    waiting: AtomicUsize,
    /// The [bubble](crate::synctest) in which the count rose from 0, 0: outside. Waiting is durable there.
    bubble: AtomicU64,
    waiters: SpinLock<WaitQueue>,
}

impl Default for Counter {
    fn default() -> Counter {
        Counter {
            count: AtomicI64::new(0),
            waiting: AtomicUsize::new(0),
            bubble: AtomicU64::new(0),
            waiters: SpinLock::new(Rank::Channel, WaitQueue::new()),
        }
    }
}

impl Counter {
    /// Counts for the calling goroutine.
    #[track_caller]
    pub(crate) fn add(&self, n: i64) {
        self.count_in_bubble(n > 0);
        self.change(n, "")
    }

    /// Counts out a goroutine that has ended, for which it was counted up where it was born.
    pub(crate) fn one_ended(&self) {
        self.change(-1, ": what `go` starts counts itself out, without `done`")
    }

    #[track_caller]
    fn change(&self, n: i64, hint: &str) {
        // AcqRel: what the finished goroutines did happens before `wait` returns; pairs with its loads.
        let before = self
            .count
            .fetch_add(n, order("waitgroup_add_relaxed", Ordering::AcqRel));
        let after = before.wrapping_add(n);
        assert!(after >= 0, "negative WaitGroup counter{hint}");
        // Acquire: pairs with the changes of `waiting` in `wait` and `wake_all`.
        if n > 0 && before == 0 && self.waiting.load(Ordering::Acquire) != 0 {
            misuse("add called concurrently with wait");
        }
        if n < 0 && after == 0 {
            self.wake_all();
        }
    }

    /// The count is about to change: whose is it? Who brings it to 0 from outside would wake those inside, who wait for their bubble.
    #[track_caller]
    fn count_in_bubble(&self, rises: bool) {
        let here = sched::bubble::current_id();
        // Acquire: pairs with the AcqRel of `change`, before which this was called.
        if self.count.load(Ordering::Acquire) == 0 {
            if rises {
                self.bubble.store(here, Ordering::Relaxed)
            }
        } else if self.bubble.load(Ordering::Relaxed) != here {
            misuse("counted from inside and outside of a bubble")
        }
    }

    pub(crate) fn wait(&self, reason: WaitReason) {
        // Acquire: pairs with the AcqRel of the last `add`.
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut waiters = self.waiters.lock();
        // Acquire: as above. Who brings the count to 0 after this look takes the lock after us, and finds us.
        if self.count.load(Ordering::Acquire) == 0 && !mutant("waitgroup_no_recheck") {
            return;
        }
        let w = Waiter::new(ptr::null_mut());
        // SAFETY: `w` lives in this frame, which we leave only once it was popped.
        unsafe { waiters.push_back(&w) };
        self.waiting.fetch_add(1, Ordering::Release); // pairs with the look in `change`
        if self.bubble.load(Ordering::Relaxed) == sched::bubble::current_id() {
            w.g.blocks_durably()
        }
        sched::park_unlock(waiters, reason);
        if self.count.load(Ordering::Acquire) != 0 {
            misuse("reused before the previous wait has returned");
        }
    }

    fn wake_all(&self) {
        if mutant("waitgroup_glances") && self.waiting.load(Ordering::Acquire) == 0 {
            return;
        }
        let mut waiters = self.waiters.lock();
        if waiters.is_empty() {
            return;
        }
        if self.count.load(Ordering::Acquire) != 0 {
            // Those that waited for the 0 have seen it and gone; these came for the next round, whose 0 wakes them.
            return;
        }
        self.waiting.store(0, Ordering::Release); // pairs with the look in `change`
        let batch = waiters.pop_all();
        drop(waiters);
        batch.ready(true);
    }

    /// A hook that takes 1 from the count when its goroutine has ended and is counted out.
    pub(crate) fn into_hook(self: Arc<Self>) -> ExitHook {
        ExitHook {
            f: Self::ended,
            arg: Arc::into_raw(self) as usize,
        }
    }

    /// # Safety
    ///
    /// `arg` comes from [`into_hook`](Self::into_hook) and is used once.
    unsafe fn ended(arg: usize) {
        // SAFETY: the hook runs once, and owns this count.
        let counter = unsafe { Arc::from_raw(arg as *const Counter) };
        counter.one_ended();
    }
}

#[track_caller]
fn misuse(what: &str) -> ! {
    panic!("WaitGroup misuse: {what}")
}
