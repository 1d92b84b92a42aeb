//! The end of a process, as its threads see it: whatever they wait for in the kernel, they go on.

use crate::sleeper::Sleeper;
use alloc::sync::Arc;
use alloc::vec::Vec;
use base::shim::{AtomicBool, Ordering::*};
use base::{Rank, SpinLock};

/// Threads that are nudged between two looks at the list.
const CHUNK: usize = 16;

/// Whether a process is to end, and its threads as those that wait. A wait is "the thing, or the end": that which is under way as well
/// as each that begins later gives [`abi::Error::Killed`].
///
/// ```
/// # sched::testing::run(2, 2, || {
/// use std::sync::Arc;
/// use user::{stop::Stop, wait::Waits};
/// let stop = Arc::new(Stop::new());
/// let waits = Waits::new(&stop); // of a thread
/// let sleeper = csp::spawn(move || waits.sleep(abi::FOREVER));
/// stop.stop();
/// assert_eq!(sleeper.join(), Err(abi::Error::Killed));
/// # });
/// ```
pub struct Stop {
    stopped: AtomicBool,
    threads: SpinLock<Vec<Arc<Sleeper>>>,
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

impl Stop {
    /// Of a process that goes on.
    pub fn new() -> Stop {
        Stop {
            stopped: AtomicBool::new(false),
            threads: SpinLock::new(Rank::Channel, Vec::new()),
        }
    }

    /// All threads of the process go on from wherever they wait in the kernel. A second time does nothing new.
    pub fn stop(&self) {
        self.stopped.store(true, Release);
        self.nudge(|_| true)
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Acquire)
    }

    pub(crate) fn add(&self, sleeper: Arc<Sleeper>) {
        self.threads.lock().push(sleeper)
    }

    pub(crate) fn remove(&self, sleeper: &Arc<Sleeper>) {
        let mut threads = self.threads.lock();
        let at = threads.iter().position(|s| Arc::ptr_eq(s, sleeper));
        let gone = at.map(|at| threads.swap_remove(at));
        drop(threads);
        drop(gone)
    }

    /// All threads for which `whom` is true look again at what could end their waits. The caller has changed that before.
    ///
    /// From the last to the first, since one that leaves the list is replaced by its last: that one was seen, or comes to a place that is
    /// still to be seen. One that is added meanwhile sees the change by itself.
    pub(crate) fn nudge(&self, whom: impl Fn(&Sleeper) -> bool) {
        let mut end = usize::MAX;
        while end != 0 {
            let mut chunk: [Option<Arc<Sleeper>>; CHUNK] = [const { None }; CHUNK];
            let threads = self.threads.lock();
            end = end.min(threads.len());
            let begin = end.saturating_sub(CHUNK);
            for (to, sleeper) in chunk.iter_mut().zip(&threads[begin..end]) {
                *to = Some(sleeper.clone())
            }
            drop(threads);
            end = begin;
            let found = chunk.iter().flatten().filter(|sleeper| whom(sleeper));
            found.for_each(|sleeper| sleeper.nudge())
        }
    }
}
