//! Mutual exclusion, three states of one word (Ulrich Drepper, "Futexes are tricky", mutex 2; Go: `lock_futex.go`).

use crate::futex;
use crate::shim::{AtomicU32, Ordering, const_fn, mutant, order};
use core::cell::UnsafeCell;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// Nobody has the lock.
pub(crate) const FREE: u32 = 0;
/// Somebody has it, nobody sleeps for it.
const HELD: u32 = 1;
/// Somebody has it, and others may sleep.
pub(crate) const CONTENDED: u32 = 2;

/// A value that one thread at a time may use. Others sleep.
pub struct Mutex<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, which `T: Send` allows.
unsafe impl<T: Send> Sync for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    const_fn! {
        /// A free lock.
        pub const fn new(value: T) -> Mutex<T> {
            Mutex { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
        }
    }

    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        if !self.take(FREE, HELD) {
            self.wait();
        }
        MutexGuard { mutex: self }
    }

    /// The lock, if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.take(FREE, HELD).then(|| MutexGuard { mutex: self })
    }

    /// The value: nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, without the lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    fn take(&self, from: u32, to: u32) -> bool {
        // Acquire: pairs with the Release of `unlock`.
        self.word
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Whoever has slept takes the lock as contended: he does not know whether others still sleep.
    #[cold]
    fn wait(&self) {
        let taken = match mutant("user_mutex_forgets_sleepers") {
            true => HELD,
            false => CONTENDED,
        };
        // Acquire: as in `take`.
        while self.word.swap(taken, Ordering::Acquire) != FREE {
            // It changed, or a wake-up: both are answered by another look.
            let _ = futex::wait(&self.word, taken);
        }
    }

    fn unlock(&self) {
        // Release: pairs with the Acquire of whoever takes it next.
        let before = self
            .word
            .swap(FREE, order("user_mutex_unlock_relaxed", Ordering::Release));
        if before == CONTENDED && !mutant("user_mutex_wakes_nobody") {
            futex::wake(&self.word, 1);
        }
    }

    /// The word, for whoever gives the lock back where no Rust runs any more.
    #[cfg(ringo_user)]
    pub(crate) fn word(&self) -> *const AtomicU32 {
        &self.word
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => write!(f, "Mutex({:?})", *value),
            None => f.write_str("Mutex(<locked>)"),
        }
    }
}

/// The lock is held while this lives.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
}

impl<'a, T> MutexGuard<'a, T> {
    /// What it is the lock of.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and the guard is borrowed alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.unlock();
    }
}
