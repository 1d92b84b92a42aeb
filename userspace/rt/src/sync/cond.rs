//! Waiting for a condition on what a lock protects (Go: `sync.Cond`).

use super::MutexGuard;
use crate::futex;
use crate::shim::{AtomicU32, Ordering, const_fn, mutant};
use core::time::Duration;

/// A place to wait for a change.
///
/// The word counts notifications. A waiter reads it before it gives the lock up, so a change after that finds either a sleeper or
/// a word that is no longer the one that was read. A wake-up may come without reason: wait in a loop.
pub struct Cond {
    notified: AtomicU32,
}

impl Cond {
    const_fn! {
        /// Nobody waits.
        pub const fn new() -> Cond {
            Cond { notified: AtomicU32::new(0) }
        }
    }

    /// Gives the lock up, waits for a notification, takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let mut seen = self.notified.load(Ordering::Relaxed); // the lock orders it
        let mutex = guard.mutex();
        drop(guard);
        if mutant("user_cond_reads_late") {
            seen = self.notified.load(Ordering::Relaxed)
        }
        // Notified between the two: then it is not `seen` any more.
        let _ = futex::wait(&self.notified, seen);
        mutex.lock()
    }

    /// As [`wait`](Self::wait), at most for `timeout`. False: the time is up.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let seen = self.notified.load(Ordering::Relaxed); // the lock orders it
        let mutex = guard.mutex();
        drop(guard);
        let waited = futex::wait_timeout(&self.notified, seen, timeout);
        (mutex.lock(), waited != Err(abi::Error::TimedOut))
    }

    /// Wakes one waiter, if there is any.
    pub fn notify_one(&self) {
        self.notify(1);
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.notify(u32::MAX);
    }

    fn notify(&self, n: u32) {
        if !mutant("user_cond_counts_nothing") {
            self.notified.fetch_add(1, Ordering::Relaxed); // what changed is under the lock
        }
        futex::wake(&self.notified, n);
    }
}

impl Default for Cond {
    fn default() -> Cond {
        Cond::new()
    }
}
