//! Many readers or one writer (Go: `sync.RWMutex`).

use crate::waitq::{WaitQueue, Waiter, unlock_then_ready};
use base::mutant::mutant;
use base::{Rank, SpinLock};
use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr;
use sched::WaitReason;

/// Who has the lock and who waits. Every change of hands is done by the one who leaves: those it wakes own the lock.
///
/// ```text
///                 last reader leaves, writers wait
///   readers > 0 ------------------------------------> writer
///        ^                                              |
///        +----------------------------------------------+  all readers that wait come in, else the next writer
/// ```
struct State {
    readers: usize,
    writer: bool,
    readers_wait: WaitQueue,
    writers_wait: WaitQueue,
}

/// A lock around a value that many goroutines may read at a time, or one may write.
///
/// A writer that waits keeps new readers out; when it is done, the readers that came meanwhile go first. So a goroutine
/// must not take a second read guard while it holds one: a writer between the two stops both.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::sync::RwLock;
/// static PRICES: RwLock<Vec<(&str, u32)>> = RwLock::new(Vec::new());
/// PRICES.write().push(("tea", 3));
/// let (a, b) = (PRICES.try_read(), PRICES.try_read());
/// assert!(a.is_some() && b.is_some() && PRICES.try_write().is_none());
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    state: SpinLock<State>,
    value: UnsafeCell<T>,
}

// SAFETY: readers on several CPUs share the value (`T: Sync`), writers have it in turn (`T: Send`).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: the lock is as movable as its value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}

impl<T> RwLock<T> {
    base::const_fn! {
        /// A free lock around `value`.
        ///
        /// ```
        /// # sched::testing::run(2, 2, || {
        /// let limit = csp::sync::RwLock::new(10);
        /// assert_eq!(*limit.read(), 10);
        /// # });
        /// ```
        pub const fn new(value: T) -> RwLock<T> {
            RwLock {
                state: SpinLock::new(
                    Rank::Channel,
                    State {
                        readers: 0,
                        writer: false,
                        readers_wait: WaitQueue::new(),
                        writers_wait: WaitQueue::new(),
                    },
                ),
                value: UnsafeCell::new(value),
            }
        }
    }

    /// The value, without the lock.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let words = csp::sync::RwLock::new(vec!["a"]);
    /// words.write().push("b");
    /// assert_eq!(words.into_inner(), ["a", "b"]);
    /// # });
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading; waits while a writer has it or waits for it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let table = csp::sync::RwLock::new([1, 2, 3]);
    /// let sums = csp::scope(|s| {
    ///     let readers = [0, 1].map(|_| s.spawn(|| table.read().iter().sum::<i32>()));
    ///     readers.map(|r| r.join())
    /// });
    /// assert_eq!(sums, [6, 6]);
    /// # });
    /// ```
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let mut state = self.state.lock();
        if state.writer || !state.writers_wait.is_empty() {
            let w = Waiter::new(ptr::null_mut());
            // SAFETY: `w` lives in this frame, which we leave only once it was popped; the popper counted us in.
            unsafe { state.readers_wait.push_back(&w) };
            wait_counted(state, WaitReason::SyncRwMutexRLock);
        } else {
            state.readers += 1;
        }
        RwLockReadGuard {
            lock: self,
            not_send: PhantomData,
        }
    }

    /// Takes the lock for writing; waits for it.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let pair = csp::sync::RwLock::new((0, 0));
    /// csp::scope(|s| {
    ///     s.go(|| {
    ///         let mut pair = pair.write();
    ///         pair.0 += 1;
    ///         pair.1 += 1;
    ///     });
    ///     let pair = pair.read();
    ///     assert_eq!(pair.0, pair.1); // both or neither
    /// });
    /// # });
    /// ```
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let mut state = self.state.lock();
        if state.writer || state.readers > 0 {
            let w = Waiter::new(ptr::null_mut());
            // SAFETY: as in `read`.
            unsafe { state.writers_wait.push_back(&w) };
            wait_counted(state, WaitReason::SyncRwMutexLock);
        } else {
            state.writer = true;
        }
        RwLockWriteGuard {
            lock: self,
            not_send: PhantomData,
        }
    }

    /// Takes the lock for reading if that needs no waiting.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let value = csp::sync::RwLock::new(1);
    /// let writer = value.write();
    /// assert!(value.try_read().is_none());
    /// drop(writer);
    /// assert_eq!(*value.try_read().unwrap(), 1);
    /// # });
    /// ```
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let mut state = self.state.lock();
        if state.writer || !state.writers_wait.is_empty() {
            return None;
        }
        state.readers += 1;
        Some(RwLockReadGuard {
            lock: self,
            not_send: PhantomData,
        })
    }

    /// Takes the lock for writing if it is free.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let value = csp::sync::RwLock::new(1);
    /// let reader = value.read();
    /// assert!(value.try_write().is_none());
    /// drop(reader);
    /// *value.try_write().unwrap() = 2;
    /// # });
    /// ```
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let mut state = self.state.lock();
        if state.writer || state.readers > 0 {
            return None;
        }
        state.writer = true;
        Some(RwLockWriteGuard {
            lock: self,
            not_send: PhantomData,
        })
    }

    /// The value: nobody else can have the lock.
    ///
    /// ```
    /// # sched::testing::run(2, 2, || {
    /// let mut value = csp::sync::RwLock::new(1);
    /// *value.get_mut() += 1; // no lock: the borrow is exclusive
    /// assert_eq!(*value.read(), 2);
    /// # });
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn read_unlock(&self) {
        let mut state = self.state.lock();
        state.readers -= 1;
        if state.readers > 0 {
            return;
        }
        if mutant("last_reader_forgets_writer") {
            return;
        }
        if let Some(writer) = state.writers_wait.pop() {
            state.writer = true;
            unlock_then_ready(state, writer.succeed());
        }
    }

    fn write_unlock(&self) {
        let mut state = self.state.lock();
        state.writer = false;
        let readers = state.readers_wait.pop_all();
        if !readers.is_empty() {
            if !mutant("readers_come_in_uncounted") {
                state.readers = readers.len()
            }
            drop(state);
            readers.ready(true);
        } else if let Some(writer) = state.writers_wait.pop() {
            state.writer = !mutant("writer_comes_in_unsaid");
            unlock_then_ready(state, writer.succeed());
        }
    }
}

/// Parks the G, and counts for the figures how long.
fn wait_counted(state: base::SpinGuard<'_, State>, reason: WaitReason) {
    let since_ns = sched::machine_now_ns();
    sched::park_unlock(state, reason);
    sched::metrics::add_mutex_wait_ns(sched::machine_now_ns().saturating_sub(since_ns))
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(v) => write!(f, "RwLock({:?})", &*v),
            None => f.write_str("RwLock(<locked>)"),
        }
    }
}

/// The right to read the value of a [`RwLock`]; dropping it unlocks.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let value = csp::sync::RwLock::new(String::from("read by many"));
/// let (a, b) = (value.read(), value.read());
/// assert_eq!((a.len(), b.as_str()), (12, "read by many"));
/// # });
/// ```
#[must_use = "the lock is released when the guard is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: PhantomData<*const ()>,
}

/// The right to write the value of a [`RwLock`]; dropping it unlocks.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// let value = csp::sync::RwLock::new(vec![1]);
/// let mut guard = value.write();
/// guard.push(2);
/// drop(guard); // unlocked
/// assert_eq!(value.read().len(), 2);
/// # });
/// ```
#[must_use = "the lock is released when the guard is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: no writer has the lock while a read guard lives.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: nobody else has the lock while the write guard lives.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is unique.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.read_unlock();
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.write_unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
