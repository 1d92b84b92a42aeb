//! Things that happen once (Go: `sync.Once`, `sync.OnceValue`).

use crate::frames::Frame;
use crate::waitq::{WaitQueue, Waiter};
use base::mutant::{mutant, order};
use base::shim::{AtomicU32, Ordering};
use base::{Rank, SpinLock};
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;
use sched::WaitReason;

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const DONE: u32 = 2;

/// Runs one function once, whoever comes; all who come meanwhile wait until it has returned.
///
/// A function that ends its goroutine by [`goexit`](crate::goexit) has run as well (Go: the same).
///
/// ```
/// # sched::testing::run(2, 2, || {
/// static START: csp::sync::Once = csp::sync::Once::new();
/// START.call_once(|| println!("once"));
/// START.call_once(|| unreachable!());
/// assert!(START.is_completed());
/// # });
/// ```
pub struct Once {
    state: AtomicU32,
    waiters: SpinLock<WaitQueue>,
}

impl Default for Once {
    fn default() -> Self {
        Once::new()
    }
}

impl Once {
    base::const_fn! {
        /// One whose function has not run.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// use csp::sync::Once;
        /// static START: Once = Once::new();
        /// assert!(!START.is_completed());
        /// # });
        /// ```
        pub const fn new() -> Once {
            Once {
                state: AtomicU32::new(NEW),
                waiters: SpinLock::new(Rank::Channel, WaitQueue::new()),
            }
        }
    }

    /// Runs `f` if this is the first call; returns when the first call's `f` has returned. Calling it from within `f`
    /// waits for ever.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// use csp::sync::{Mutex, Once};
    /// static LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    /// static FIRST: Once = Once::new();
    /// csp::scope(|s| {
    ///     for n in 0..5 {
    ///         s.go(move || FIRST.call_once(|| LOG.lock().push(n)));
    ///     }
    /// });
    /// assert_eq!(LOG.lock().len(), 1);
    /// # });
    /// ```
    #[inline]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        if !self.is_completed() {
            self.call_slow(f, DONE);
        }
    }

    /// Whether the function has returned.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let once = csp::sync::Once::new();
    /// once.call_once(|| assert!(!once.is_completed()));
    /// assert!(once.is_completed());
    /// # });
    /// ```
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: pairs with the Release below; what the function did is visible.
        self.state.load(Ordering::Acquire) == DONE
    }

    /// `abandoned`: the state if `f` ends its goroutine.
    #[cold]
    fn call_slow<F: FnOnce()>(&self, f: F, abandoned: u32) {
        let mut f = Some(f);
        while !self.is_completed() {
            // Acquire: pairs with the Release of `end`: what a function did that ended its goroutine is visible.
            if self
                .state
                .compare_exchange(NEW, RUNNING, Ordering::Acquire, Ordering::Acquire)
                .is_err()
            {
                self.wait();
                continue;
            }
            let running = Running {
                frame: Frame::new(Running::leave),
                once: self,
                abandoned,
            };
            // SAFETY: `leave` is for a `Running`, and `self` outlives this frame.
            unsafe { Frame::within(&running, |r| &r.frame, || f.take().map_or((), |f| f())) };
            return self.end(DONE);
        }
    }

    /// The function has ended.
    fn end(&self, state: u32) {
        let mut waiters = self.waiters.lock();
        // Under the lock: who sees RUNNING there is in the list before we look.
        // Release: pairs with the loads of `is_completed` and `wait`.
        self.state
            .store(state, order("once_done_relaxed", Ordering::Release));
        let batch = waiters.pop_all();
        drop(waiters);
        batch.ready(true);
    }

    /// Waits until the function has ended.
    fn wait(&self) {
        let mut waiters = self.waiters.lock();
        if self.state.load(Ordering::Acquire) != RUNNING && !mutant("once_no_recheck") {
            return;
        }
        let w = Waiter::new(ptr::null_mut());
        // SAFETY: `w` lives in this frame, which we leave only once it was popped.
        unsafe { waiters.push_back(&w) };
        sched::park_unlock(waiters, WaitReason::SyncMutexLock);
    }
}

/// A function that is under way, in the frame that runs it.
#[repr(C)]
struct Running<'a> {
    frame: Frame,
    once: &'a Once,
    abandoned: u32,
}

impl Running<'_> {
    /// The function ends its goroutine.
    ///
    /// # Safety
    ///
    /// `frame` is that of a `Running` whose function runs.
    unsafe fn leave(frame: *const Frame) {
        // SAFETY: the caller's promise.
        let running = unsafe { &*frame.cast::<Running<'_>>() };
        running.once.end(running.abandoned)
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Once(completed: {})", self.is_completed())
    }
}

/// A value that is made once.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// static TABLE: csp::sync::OnceLock<Vec<u32>> = csp::sync::OnceLock::new();
/// assert_eq!(TABLE.get(), None);
/// assert_eq!(TABLE.get_or_init(|| vec![1, 2, 3]).len(), 3);
/// assert_eq!(TABLE.set(vec![]), Err(vec![]));
/// # });
/// ```
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written once before `once` is completed (by a G that may differ from those that read it, hence
// `Send`) and shared afterwards (`Sync`).
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: as movable as its value.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T> OnceLock<T> {
    base::const_fn! {
        /// One without a value.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// use csp::sync::OnceLock;
        /// static NAME: OnceLock<String> = OnceLock::new();
        /// assert_eq!(NAME.get_or_init(|| "made when it is needed".into()), "made when it is needed");
        /// # });
        /// ```
        pub const fn new() -> OnceLock<T> {
            OnceLock {
                once: Once::new(),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }
        }
    }

    /// The value, if there is one.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let cell = csp::sync::OnceLock::new();
    /// assert_eq!(cell.get(), None);
    /// cell.set(5).unwrap();
    /// assert_eq!(cell.get(), Some(&5));
    /// # });
    /// ```
    pub fn get(&self) -> Option<&T> {
        // SAFETY: completed means written.
        self.once
            .is_completed()
            .then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// The value; made by `f` if there is none yet. Who comes while `f` runs waits; if `f` ends its goroutine, the next one
    /// makes it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let (cell, made) = (csp::sync::OnceLock::new(), csp::sync::Mutex::new(0));
    /// csp::scope(|s| {
    ///     for _ in 0..5 {
    ///         s.go(|| {
    ///             let value = *cell.get_or_init(|| {
    ///                 *made.lock() += 1;
    ///                 42
    ///             });
    ///             assert_eq!(value, 42);
    ///         });
    ///     }
    /// });
    /// assert_eq!(made.into_inner(), 1);
    /// # });
    /// ```
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let make = || {
            let value = f();
            // SAFETY: one such closure runs at a time, and nobody reads before it is completed.
            unsafe { (*self.value.get()).write(value) };
        };
        self.once.call_slow(make, NEW);
        // SAFETY: completed means written: a closure that ended its goroutine leaves it to the next one.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Sets the value.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let cell = csp::sync::OnceLock::new();
    /// assert_eq!(cell.set("first"), Ok(()));
    /// assert_eq!(cell.set("second"), Err("second"));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// Gives `value` back if there is one already.
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.once.call_once(|| {
            if let Some(v) = value.take() {
                // SAFETY: as in `get_or_init`.
                unsafe { (*self.value.get()).write(v) };
            }
        });
        match value {
            None => Ok(()),
            Some(v) => Err(v),
        }
    }

    /// The value, without the lock.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let cell = csp::sync::OnceLock::new();
    /// cell.set(vec![1, 2]).unwrap();
    /// assert_eq!(cell.into_inner(), Some(vec![1, 2]));
    /// # });
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// Takes the value out; there is none afterwards.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let mut cell = csp::sync::OnceLock::new();
    /// cell.set(1).unwrap();
    /// assert_eq!((cell.take(), cell.take()), (Some(1), None));
    /// assert_eq!(cell.set(2), Ok(())); // as new
    /// # });
    /// ```
    pub fn take(&mut self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        self.once = Once::new();
        // SAFETY: it was completed, and is not any more.
        Some(unsafe { (*self.value.get()).assume_init_read() })
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(v) => write!(f, "OnceLock({v:?})"),
            None => f.write_str("OnceLock(<unset>)"),
        }
    }
}
