//! What processes may use, so that one of them hurts no other: a process of memory, threads and handles, a *job* of processes, threads
//! and memory. A job is what the shell or the kernel's program has started, with all that it starts itself.
//!
//! A process may have its limit mapped, and as much again kept for it in the kernel ([`crate::account`]); its job counts both. Memory that
//! is shared counts for who has made it, and for each who has it mapped.

use crate::machine::{self, PAGE};
use abi::Error;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// Memory of a process at most, in bytes, mapped, and as much in the kernel; on a small machine a quarter of that one's.
pub const PROCESS_BYTES: u64 = 64 << 20;
/// Threads of a process.
pub const THREADS: u32 = 1024;
/// Handles of a process.
pub const HANDLES: u32 = 256;
/// Processes of a job that live.
pub const PROCESSES: u64 = 64;
/// Threads of a job; on a small machine one for so many frames: what they may all need in the kernel at once is less than what
/// ring 3 leaves to it.
pub const JOB_THREADS: u64 = 2048;
const FRAMES_OF_A_THREAD: u64 = 64;
/// A process may have mapped so many times what it may touch.
pub const MAPPED_FACTOR: u64 = 16;
/// Separate pieces of memory that a process has mapped.
pub const AREAS: usize = 8192;
/// Bytes of arguments of a process.
pub const ARGS_BYTES: u64 = 64 << 10;

/// A number that goes up to a limit.
#[derive(Debug)]
pub struct Counter {
    used: AtomicU64,
    limit: u64,
}

impl Counter {
    /// Nothing used yet.
    pub const fn new(limit: u64) -> Counter {
        Counter {
            used: AtomicU64::new(0),
            limit,
        }
    }

    /// Takes `n`, if the limit allows it.
    #[must_use]
    pub fn take(&self, n: u64) -> bool {
        // Relaxed: the number alone counts.
        self.used
            .fetch_update(Relaxed, Relaxed, |used| {
                used.checked_add(n).filter(|&sum| sum <= self.limit)
            })
            .is_ok()
    }

    /// Gives `n` back that were taken.
    pub fn give(&self, n: u64) {
        let before = self.used.fetch_sub(n, Relaxed);
        debug_assert!(before >= n, "more given back than was taken");
    }

    /// How much is taken.
    pub fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// The limit.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

/// Processes that were begun by one of outside, and theirs.
#[derive(Debug)]
pub struct Job {
    /// Those that live.
    pub processes: Counter,
    /// Threads of all of them.
    pub threads: Counter,
    /// Bytes of all of them: their pages, and what the kernel keeps for them.
    pub(crate) memory: Counter,
    /// No process begins in it any more.
    closed: AtomicBool,
}

impl Job {
    /// A job of this machine: it may have half of its memory.
    pub fn new() -> Arc<Job> {
        Self::with_memory(machine::total_frames() / 2 * PAGE)
    }

    /// One that may have so many bytes.
    pub fn with_memory(bytes: u64) -> Arc<Job> {
        Arc::new(Job {
            processes: Counter::new(PROCESSES),
            threads: Counter::new(JOB_THREADS.min(machine::total_frames() / FRAMES_OF_A_THREAD)),
            memory: Counter::new(bytes),
            closed: AtomicBool::new(false),
        })
    }

    /// Bytes of all of its processes, and those that have outlived the process that made them.
    pub fn used_bytes(&self) -> u64 {
        self.memory.used()
    }

    /// It is over: no process begins in it any more. Under the lock that [`Job::is_closed`] is asked under.
    pub(crate) fn close(&self) {
        self.closed.store(true, Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }
}

/// The memory that one process uses.
#[derive(Debug)]
pub struct PageAccount {
    pages: Counter,
    job: Arc<Job>,
}

impl PageAccount {
    /// One with the limit of this machine.
    pub fn new(job: Arc<Job>) -> PageAccount {
        let pages = (PROCESS_BYTES / PAGE).min(machine::total_frames() / 4);
        Self::with_limit(job, pages)
    }

    /// One of so many pages.
    pub fn with_limit(job: Arc<Job>, pages: u64) -> PageAccount {
        PageAccount {
            pages: Counter::new(pages),
            job,
        }
    }

    /// Takes `n` pages.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: the process or its job has used up what it may have.
    pub fn take(&self, n: u64) -> Result<(), Error> {
        if !self.pages.take(n) {
            return Err(Error::OutOfMemory);
        }
        if !self.job.memory.take(n.saturating_mul(PAGE)) {
            self.pages.give(n);
            return Err(Error::OutOfMemory);
        }
        Ok(())
    }

    /// Gives `n` back.
    pub fn give(&self, n: u64) {
        self.pages.give(n);
        self.job.memory.give(n * PAGE);
    }

    /// Pages in use.
    pub fn used(&self) -> u64 {
        self.pages.used()
    }

    /// Pages that may be in use.
    pub fn limit(&self) -> u64 {
        self.pages.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stop_at_their_limit() {
        let c = Counter::new(3);
        assert!(c.take(2) && !c.take(2) && c.take(1) && !c.take(1));
        assert!(!c.take(u64::MAX)); // no wrap
        c.give(3);
        assert_eq!(c.used(), 0);
    }

    #[test]
    fn a_job_limits_its_processes_together() {
        let job = Job::with_memory(5 * PAGE);
        let (a, b) = (
            PageAccount::with_limit(job.clone(), 4),
            PageAccount::with_limit(job.clone(), 4),
        );
        a.take(4).unwrap();
        assert_eq!(a.take(1), Err(Error::OutOfMemory)); // its own limit
        b.take(1).unwrap();
        assert_eq!(b.take(1), Err(Error::OutOfMemory)); // the job's
        assert_eq!(b.used(), 1);
        a.give(4);
        b.take(3).unwrap();
    }
}
