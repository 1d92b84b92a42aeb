//! Mutual exclusion between goroutines (Go: `internal/sync/mutex.go`).

mod guard;

pub use guard::MutexGuard;

use crate::waitq::{WaitQueue, Waiter, unlock_then_ready};
use base::mutant::{mutant, order};
use base::shim::{AtomicU32, Ordering};
use base::{Rank, SpinLock};
use core::cell::UnsafeCell;
use core::fmt;
use core::ptr;
use core::sync::atomic::AtomicU64;
use sched::WaitReason;

/// Somebody has the lock.
const LOCKED: u32 = 1;
/// Somebody is in the list: `unlock` takes the slow path.
const WAITERS: u32 = 2;
/// One waiter was woken and is about to try: `unlock` wakes no second one.
const WOKEN: u32 = 4;
/// A waiter has waited for more than [`STARVING_NS`]: the lock is handed from owner to first waiter, newcomers queue.
const STARVING: u32 = 8;

/// How long a waiter loses to newcomers before it gets the lock handed over, in ns (Go: `starvationThresholdNs`).
const STARVING_NS: u64 = 1_000_000;

/// The word and the list; [`Mutex`] adds the value.
///
/// ```text
///            lock (CAS)               lock, taken: park
///   free  <-------------->  LOCKED  -------------------->  LOCKED|WAITERS
///            unlock (CAS)                                        |  unlock: free it, wake the first waiter (WOKEN),
///                                                                |  which competes with newcomers
///                                   woken, lost again, > 1 ms    v
///   LOCKED|WAITERS|STARVING  <-------------------------------  (normal)
///        |    unlock: the first waiter owns it, LOCKED stays set; back to normal when it was the last one or had
///        +--> waited less than 1 ms
/// ```
///
/// WAITERS, WOKEN and STARVING change under the list's lock only. Nobody is missed: a G sets WAITERS and sees LOCKED in
/// one step under that lock; the owner's fast unlock then fails, and its slow one waits for the list's lock, which is
/// dropped when the G is asleep. Every change that frees the word is a Release and pairs with the Acquire of `try_lock`; the
/// rest of the word needs no order, since it changes under the list's lock.
struct Raw {
    word: AtomicU32,
    list: SpinLock<WaitQueue>,
    /// Number of the goroutine that has the lock; 0 while that is not known. For reports: who waits for whom.
    owner: AtomicU64,
}

impl Raw {
    base::const_fn! {
        const fn new() -> Raw {
            Raw {
                word: AtomicU32::new(0),
                list: SpinLock::new(Rank::Channel, WaitQueue::new()),
                owner: AtomicU64::new(0),
            }
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (LOCKED | STARVING) == 0
            // Acquire: pairs with the Release of `unlock`, `unlock_slow` and `hand_over`.
            && self
                .word
                .compare_exchange(word, word | LOCKED, order("mutex_lock_relaxed", Ordering::Acquire), Ordering::Relaxed)
                .is_ok()
    }

    #[inline]
    fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow(false);
        }
    }

    /// The calling G has it.
    #[inline]
    fn own(&self) {
        let me = sched::try_current().map_or(0, |g| g.id());
        self.owner.store(me, Ordering::Relaxed);
    }

    /// `durably`: as who waits for its own bubble does.
    #[cold]
    fn lock_slow(&self, durably: bool) {
        let mut w = Waiter::new(ptr::null_mut());
        let mut woken = 0;
        loop {
            let mut list = self.list.lock();
            // Taken, or asked for: in one step, see above. Newcomers do not compete while the lock is starving, but it
            // is never free then.
            let word = if mutant("mutex_waits_in_two_steps") {
                let word = self.word.load(Ordering::Relaxed);
                self.word.fetch_or(WAITERS, Ordering::Relaxed);
                word
            } else {
                self.word.fetch_or(WAITERS, Ordering::Relaxed)
            };
            if word & LOCKED == 0 {
                if self.try_lock() {
                    // Ours. WOKEN was meant for us; the list may be empty.
                    let mut clear = woken;
                    if list.is_empty() || mutant("mutex_clears_waiters") {
                        clear |= WAITERS;
                    }
                    if mutant("mutex_stays_woken") {
                        clear &= !WOKEN
                    }
                    self.word.fetch_and(!clear, Ordering::Relaxed);
                    drop(list);
                    return note_wait(&w);
                }
                // A newcomer was faster, without the list's lock: again.
                continue;
            }
            let now = sched::machine_now_ns();
            if w.since_ns == 0 {
                w.since_ns = now;
            } else if now.saturating_sub(w.since_ns) > STARVING_NS {
                self.word.fetch_or(STARVING, Ordering::Relaxed);
            }
            if woken == 0 {
                // SAFETY: `w` lives in this frame, which we leave only when it is in no list.
                unsafe { list.push_back(&w) };
            } else {
                self.word.fetch_and(!WOKEN, Ordering::Relaxed);
                // SAFETY: as above.
                unsafe { list.push_front(&w) };
            }
            // SAFETY: this is the calling G, which leaves this frame, and so the lock, only when it is awake.
            unsafe { w.g.wait_for_owner(Some(&self.owner)) };
            if durably {
                w.g.blocks_durably()
            }
            sched::park_unlock(list, WaitReason::SyncMutexLock);
            // SAFETY: as above.
            unsafe { w.g.wait_for_owner(None) };
            if w.success.get() {
                // Handed over, LOCKED stayed set for us. The list's lock ordered us after the last owner.
                return note_wait(&w);
            }
            woken = WOKEN;
        }
    }

    #[inline]
    fn unlock(&self) {
        // Before it is free: whoever has it next writes its own.
        self.owner.store(0, Ordering::Relaxed);
        // Release: pairs with the Acquire of `try_lock`.
        if self
            .word
            .compare_exchange(
                LOCKED,
                0,
                order("mutex_unlock_relaxed", Ordering::Release),
                Ordering::Relaxed,
            )
            .is_err()
        {
            self.unlock_slow();
        }
    }

    #[cold]
    fn unlock_slow(&self) {
        let mut list = self.list.lock();
        let word = self.word.load(Ordering::Relaxed);
        if word & STARVING != 0 {
            return self.hand_over(list);
        }
        if word & WOKEN != 0 || list.is_empty() || mutant("mutex_unlock_wakes_nobody") {
            // One is on its way, or there is none.
            let clear = if list.is_empty() && word & WOKEN == 0 {
                LOCKED | WAITERS
            } else {
                LOCKED
            };
            self.word.fetch_and(!clear, Ordering::Release);
            return;
        }
        let Some(first) = list.pop() else {
            unreachable!("a list of a Mutex has no select waiters")
        };
        self.word.fetch_or(WOKEN, Ordering::Relaxed);
        self.word.fetch_and(
            !LOCKED,
            order("mutex_slow_unlock_relaxed", Ordering::Release),
        );
        unlock_then_ready(list, first.fail());
    }

    /// Starving: the first waiter owns the lock from here on, and runs next on this P (golang/go #33747).
    fn hand_over(&self, mut list: base::SpinGuard<'_, WaitQueue>) {
        let Some(first) = list.pop() else {
            // The only waiter was woken before the mode began and is about to look: normal again.
            self.word
                .fetch_and(!(LOCKED | STARVING | WAITERS), Ordering::Release);
            return;
        };
        let waited = sched::machine_now_ns().saturating_sub(first.waiter().since_ns);
        let mut clear = 0;
        if list.is_empty() {
            clear |= WAITERS;
        }
        if mutant("mutex_hands_over_free") {
            clear |= LOCKED
        }
        if list.is_empty() || waited < STARVING_NS {
            clear |= STARVING;
        }
        self.word.fetch_and(!clear, Ordering::Relaxed);
        if mutant("mutex_hands_over_unsaid") {
            return unlock_then_ready(list, first.fail());
        }
        unlock_then_ready(list, first.succeed());
        // Whoever cannot be switched away goes on: timers look at what they hold on g0, and so unlock there.
        sched::goyield()
    }
}

/// Counts for the figures how long the G has waited.
fn note_wait(w: &Waiter) {
    if w.since_ns != 0 {
        sched::metrics::add_mutex_wait_ns(sched::machine_now_ns().saturating_sub(w.since_ns))
    }
}

/// A lock around a value. One goroutine at a time has it; the others are parked, in order.
///
/// A newcomer may overtake a waiter that was just woken; a waiter that has lost for 1 ms gets the lock handed over
/// (Go's two modes). A goroutine that ends by [`goexit`](crate::goexit) keeps what it has locked.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// static TOTAL: csp::sync::Mutex<u32> = csp::sync::Mutex::new(0);
/// let hs: Vec<_> = (0..10).map(|_| csp::spawn(|| *TOTAL.lock() += 1)).collect();
/// for h in hs {
///     h.join();
/// }
/// assert_eq!(*TOTAL.lock(), 10);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    raw: Raw,
    value: UnsafeCell<T>,
}

// SAFETY: one G at a time reaches the value, Gs on different CPUs in turn, which `T: Send` allows.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    base::const_fn! {
        /// A free lock around `value`.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// use csp::sync::Mutex;
        /// static NAMES: Mutex<Vec<&str>> = Mutex::new(Vec::new()); // in a static: no `Once` is needed
        /// NAMES.lock().push("ada");
        /// # });
        /// ```
        pub const fn new(value: T) -> Mutex<T> {
            Mutex {
                raw: Raw::new(),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// The value, without the lock.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let total = csp::sync::Mutex::new(0);
    /// csp::scope(|s| (0..4).for_each(|_| s.go(|| *total.lock() += 1)));
    /// assert_eq!(total.into_inner(), 4);
    /// # });
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock, waits for it. A goroutine that has it already waits for ever.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let text = csp::sync::Mutex::new(String::new());
    /// text.lock().push_str("locked for one statement");
    /// {
    ///     let mut guard = text.lock();
    ///     guard.clear();
    /// } // unlocked
    /// assert_eq!(*text.lock(), "");
    /// # });
    /// ```
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.raw.lock();
        self.raw.own();
        MutexGuard::new(self)
    }

    /// The same where all who ever have it are of one [bubble](crate::synctest), or all outside: who waits is durably blocked.
    pub(crate) fn lock_durably(&self) -> MutexGuard<'_, T> {
        if !self.raw.try_lock() {
            self.raw.lock_slow(true)
        }
        self.raw.own();
        MutexGuard::new(self)
    }

    /// Frees a lock whose guard was left behind.
    ///
    /// # Safety
    ///
    /// The calling goroutine has it, and uses neither the guard nor what it borrowed from it any more.
    pub(crate) unsafe fn unlock_left(&self) {
        self.raw.unlock()
    }

    /// Takes the lock if it is free.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let value = csp::sync::Mutex::new(1);
    /// let guard = value.try_lock().unwrap();
    /// assert!(value.try_lock().is_none());
    /// drop(guard);
    /// assert!(value.try_lock().is_some());
    /// # });
    /// ```
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| {
            self.raw.own();
            MutexGuard::new(self)
        })
    }

    /// The value: nobody else can have the lock.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let mut value = csp::sync::Mutex::new(1);
    /// *value.get_mut() += 1; // no lock: the borrow is exclusive
    /// assert_eq!(*value.lock(), 2);
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(v) => write!(f, "Mutex({:?})", &*v),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}
