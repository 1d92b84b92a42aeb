//! Waiting for a number of threads (Go: `sync.WaitGroup`).

use crate::futex;
use crate::shim::{AtomicU32, Ordering, order};
use alloc::sync::Arc;

/// Counts threads that are under way; [`wait`](WaitGroup::wait) returns when the count is 0. A clone is another handle to the
/// same counter.
#[derive(Clone)]
pub struct WaitGroup {
    count: Arc<AtomicU32>,
}

impl WaitGroup {
    /// A group with count 0.
    pub fn new() -> WaitGroup {
        WaitGroup {
            count: Arc::new(AtomicU32::new(0)),
        }
    }

    /// Adds `n` to the count.
    ///
    /// # Panics
    ///
    /// If the count falls below 0, or rises above `i32::MAX`.
    #[track_caller]
    pub fn add(&self, n: i32) {
        // AcqRel: what the finished threads did happens before `wait` returns; pairs with its load.
        let before = self.count.fetch_add(
            n as u32,
            order("user_waitgroup_add_relaxed", Ordering::AcqRel),
        );
        let after = before.wrapping_add(n as u32);
        assert!(after as i32 >= 0, "negative WaitGroup counter");
        if after == 0 && n != 0 {
            futex::wake(&*self.count, u32::MAX);
        }
    }

    /// Takes 1 from the count.
    ///
    /// # Panics
    ///
    /// If it was 0.
    #[track_caller]
    pub fn done(&self) {
        self.add(-1);
    }

    /// Waits until the count is 0.
    pub fn wait(&self) {
        loop {
            // Acquire: pairs with the AcqRel of `add`.
            let count = self.count.load(Ordering::Acquire);
            if count == 0 {
                return;
            }
            // The count changes with each thread that ends: only the last one wakes, so what was read may be old, not 0.
            let _ = futex::wait(&self.count, count);
        }
    }

    /// Starts a thread that counts until it has ended (Go: `WaitGroup.Go`). If there is no memory for one, the program panics, as
    /// for [`go`](crate::thread::go).
    #[track_caller]
    pub fn go<F>(&self, f: F)
    where
        F: FnOnce() + Send + 'static,
    {
        self.add(1);
        let group = self.clone();
        crate::thread::go(move || {
            f();
            group.done();
        });
    }
}

impl Default for WaitGroup {
    fn default() -> WaitGroup {
        WaitGroup::new()
    }
}
