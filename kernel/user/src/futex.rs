//! Waiting for a word of memory to change (Linux: `futex`), by where it lies: also between processes that share it.
//!
//! ```text
//!   waiter:  lock of the word's bucket ── load it: as expected? ── into the list, asleep, unlock
//!   waker:   store into the word ──────── FutexWake: lock of the bucket ── pop, unlock, ready
//! ```
//!
//! **I-FUTEX** The word is loaded under the lock under which wakers look for waiters. If the waker's look comes first, so did its store,
//! and the lock hands that on: the waiter sees it and does not sleep. If it comes second, the waiter is in the list.

use crate::memory::{UserMemory, WordKey};
use crate::sleeper::Woken;
use crate::wait::Waits;
use abi::Error;
use base::mutant::mutant;
use base::{Rank, SpinLock};
use csp::waitq::WaitQueue;
use sched::WaitReason;

/// Lists, by a hash of where the word lies.
const BUCKETS: usize = if cfg!(ringo_loom) { 1 } else { 256 };

/// How a wait for a word has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Somebody has woken the thread.
    Woken,
    /// Nobody ever will, nor any other thread of its process (`asleep.rs`). Said once in the life of a process, which is to end.
    NobodyWakes,
}

/// Who waits for which word.
pub struct Futexes {
    buckets: [Bucket; BUCKETS],
}

/// On cache lines of its own.
#[repr(align(128))]
struct Bucket(SpinLock<WaitQueue>);

impl Default for Futexes {
    fn default() -> Self {
        Futexes::new()
    }
}

impl Futexes {
    #[cfg(not(ringo_loom))]
    /// Nobody waits.
    pub const fn new() -> Futexes {
        Futexes {
            buckets: [const { Bucket(SpinLock::new(Rank::Channel, WaitQueue::new())) }; BUCKETS],
        }
    }

    #[cfg(ringo_loom)]
    /// Nobody waits.
    pub fn new() -> Futexes {
        let bucket = |_| Bucket(SpinLock::new(Rank::Channel, WaitQueue::new()));
        Futexes {
            buckets: core::array::from_fn(bucket),
        }
    }

    fn bucket(&self, key: WordKey) -> &SpinLock<WaitQueue> {
        &self.buckets[(key.hash() >> 56) as usize % BUCKETS].0
    }

    /// Sleeps while the word at `address` is `expected`, until a wake or until `timeout_ns` is over.
    ///
    /// # Errors
    /// `Again`: it is not `expected`. `TimedOut`, `Killed`, and those of the memory.
    pub fn wait(
        &self,
        memory: &dyn UserMemory,
        waits: &Waits,
        address: u64,
        expected: u32,
        timeout_ns: u64,
    ) -> Result<Waited, Error> {
        let key = memory.word_key(address)?;
        let bucket = self.bucket(key);
        let mut wait = waits.wait(WaitReason::SemAcquire);
        let alarm = wait.alarm(timeout_ns);
        let (timed, sleepers) = (timeout_ns != abi::FOREVER, memory.sleepers(key));
        loop {
            wait.begin();
            let mut list = bucket.lock();
            if mutant("futex_loads_unlocked") {
                drop(list);
                let value = memory.load_u32(address)?;
                list = bucket.lock();
                if value != expected {
                    return Err(Error::Again);
                }
            } else if memory.load_u32(address)? != expected {
                return Err(Error::Again);
            }
            wait.look()?;
            if alarm.is_over() {
                return Err(Error::TimedOut);
            }
            // Under the lock of those who wake, like the look at the word.
            if sleepers.is_some_and(|s| s.falls(timed)) {
                return Ok(Waited::NobodyWakes);
            }
            let woken = wait.park(list, |list| list, (&raw const key).cast_mut().cast());
            let popped = matches!(woken, Woken::Popped);
            if let Some(sleepers) = sleepers {
                sleepers.runs(timed, popped)
            }
            if popped {
                return Ok(Waited::Woken);
            }
        }
    }

    /// Wakes up to `n` of those that sleep for the word at `address`, in the order in which they came; how many.
    ///
    /// # Errors
    /// Those of the memory.
    pub fn wake(&self, memory: &dyn UserMemory, address: u64, n: u64) -> Result<u64, Error> {
        let key = memory.word_key(address)?;
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let mut list = self.bucket(key).lock();
        // SAFETY: what each waiter of these lists carries is the key in `wait`'s frame, which is not left while the waiter is linked;
        // nobody writes to it.
        let woken = list.pop_up_to(n, |w| unsafe { *w.elem.cast::<WordKey>() } == key);
        drop(list);
        let count = woken.len() as u64;
        let sleepers = memory.sleepers(key);
        if mutant("woken_counted_late") {
            woken.ready(true);
            sleepers.inspect(|s| s.woken(count));
            return Ok(count);
        }
        if let Some(sleepers) = sleepers {
            sleepers.woken(count) // first: I-ASLEEP
        }
        woken.ready(true);
        Ok(count)
    }
}
