//! The guard of a mutex.

use super::Mutex;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// The right to the value of a [`Mutex`]; dropping it unlocks.
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use csp::sync::{Mutex, MutexGuard};
/// fn longest(names: MutexGuard<'_, Vec<&'static str>>) -> usize {
///     names.iter().map(|name| name.len()).max().unwrap_or(0)
/// } // unlocked here
/// let names = Mutex::new(vec!["ada", "cleo"]);
/// assert_eq!(longest(names.lock()), 4);
/// assert!(names.try_lock().is_some());
/// # });
/// ```
#[must_use = "the lock is released when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// As `std`'s it stays with its goroutine.
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out shared references only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        MutexGuard {
            mutex,
            not_send: PhantomData,
        }
    }

    /// The lock that this guard holds.
    pub(in crate::sync) fn mutex(&self) -> &'a Mutex<T> {
        self.mutex
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard is the right to the value.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `self` is unique.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.mutex.raw.unlock();
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
