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
/// Threads of a job; on a machine that may have few, three quarters of those.
pub const JOB_THREADS: u64 = 2048;
/// All jobs together may have a thread for so many frames: what they may all need in the kernel at once, a handful of pages of stack
/// each, is less than what ring 3 leaves to it.
const FRAMES_OF_A_THREAD: u64 = 64;
/// Threads that there are, of all jobs.
static MACHINE_THREADS: Counter = Counter::new(u64::MAX);
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
        self.take_up_to(n, self.limit)
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

    /// [`take`](Self::take), with another limit than its own.
    #[must_use]
    pub(crate) fn take_up_to(&self, n: u64, limit: u64) -> bool {
        // Relaxed: the number alone counts.
        self.used
            .fetch_update(Relaxed, Relaxed, |used| {
                used.checked_add(n).filter(|&sum| sum <= limit)
            })
            .is_ok()
    }

    /// The limit.
    pub fn limit(&self) -> u64 {
        self.limit
    }
}

/// Threads that all jobs may have together.
fn machine_threads() -> u64 {
    machine::total_frames() / FRAMES_OF_A_THREAD
}

/// Processes that were begun by one of outside, and theirs.
#[derive(Debug)]
pub struct Job {
    /// Those that live.
    pub processes: Counter,
    /// Threads of all of them.
    threads: Counter,
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
            threads: Counter::new(JOB_THREADS.min(machine_threads() / 4 * 3)),
            memory: Counter::new(bytes),
            closed: AtomicBool::new(false),
        })
    }

    /// Room for one more thread, of the job and of the machine.
    #[must_use]
    pub fn take_thread(&self) -> bool {
        let taken = self.threads.take(1);
        let room = taken && MACHINE_THREADS.take_up_to(1, machine_threads());
        if taken && !room {
            self.threads.give(1)
        }
        room
    }

    /// Gives a thread's room back.
    pub fn give_thread(&self) {
        MACHINE_THREADS.give(1);
        self.threads.give(1)
    }

    /// Threads of all of its processes.
    pub fn threads(&self) -> u64 {
        self.threads.used()
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

    /// One job leaves some to others, and all together have no more than the machine's.
    #[test]
    fn jobs_share_the_machines_threads() {
        crate::testing::run(|| {
            let all = |job: &Job| (0..).take_while(|_| job.take_thread()).count() as u64;
            let (a, b, c) = (Job::new(), Job::new(), Job::new());
            let of_each = [&a, &b, &c].map(|job| all(job));
            let most = machine_threads();
            assert_eq!(of_each, [most / 4 * 3, most - most / 4 * 3, 0]);
            for (job, n) in [&a, &b, &c].into_iter().zip(of_each) {
                (0..n).for_each(|_| job.give_thread());
                assert_eq!(job.threads(), 0)
            }
            assert!(c.take_thread());
            c.give_thread()
        })
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
