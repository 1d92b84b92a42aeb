//! What a [`SpinLock`](crate::SpinLock) is made of in model-checking builds: loom's or shuttle's mutex, for which a thread that
//! waits is blocked, so that they see deadlocks; and what parking needs beyond it, a lock that is released without its guard.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
#[cfg(ringo_loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(ringo_shuttle)]
use shuttle::sync::{Mutex, MutexGuard};

/// A lock around a value.
pub(crate) struct ModelLock<T> {
    lock: Mutex<()>,
    value: UnsafeCell<T>,
    /// The guard that was given up, while the lock is held without one.
    given_up: UnsafeCell<Option<MutexGuard<'static, ()>>>,
}

// SAFETY: `value` and `given_up` are touched by who holds `lock` only.
unsafe impl<T: Send> Sync for ModelLock<T> {}
// SAFETY: as movable as its value; a guard that was given up stays on the models' one thread of the host.
unsafe impl<T: Send> Send for ModelLock<T> {}

/// The right to the value.
pub(crate) struct ModelGuard<'a, T> {
    of: &'a ModelLock<T>,
    held: MutexGuard<'a, ()>,
}

impl<T> ModelLock<T> {
    crate::const_fn! {
        /// A free lock.
        pub const fn new(value: T) -> Self {
            Self {
                lock: Mutex::new(()),
                value: UnsafeCell::new(value),
                given_up: UnsafeCell::new(None),
            }
        }
    }

    /// Wait for it and take it.
    pub fn lock(&self) -> ModelGuard<'_, T> {
        let held = self.lock.lock().unwrap();
        ModelGuard { of: self, held }
    }

    /// Take it if it is free.
    pub fn try_lock(&self) -> Option<ModelGuard<'_, T>> {
        let held = self.lock.try_lock().ok()?;
        Some(ModelGuard { of: self, held })
    }

    /// Release it after [`ModelGuard::give_up`].
    ///
    /// # Safety
    /// It is held so, by the calling thread.
    pub unsafe fn force_unlock(&self) {
        // SAFETY: the lock is held, by the caller's promise.
        let guard = unsafe { (*self.given_up.get()).take() };
        drop(guard.expect("the lock was given up"))
    }
}

impl<T> ModelGuard<'_, T> {
    /// The lock stays held.
    pub fn give_up(self) {
        // SAFETY: the lifetime alone changes. The guard lies in its own lock, which by the promise of `force_unlock`'s caller
        // stays until then.
        let held = unsafe { core::mem::transmute::<MutexGuard<'_, ()>, _>(self.held) };
        // SAFETY: the lock is held.
        unsafe { *self.of.given_up.get() = Some(held) }
    }
}

impl<T> Deref for ModelGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for ModelGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and `self` is unique.
        unsafe { &mut *self.of.value.get() }
    }
}
