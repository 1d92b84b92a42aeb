//! Memory of the kernel that a process holds on to: messages under way, pipes, connections, memory to share. Counted against its
//! limit and its job's, so that no program uses up what the machine needs.

use crate::limits::Job;
use crate::machine::PAGE;
use abi::Error;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mem::class::{CLASS_BYTES, SMALL_MAX_BYTES};

/// What the kernel's heap takes for `bytes` bytes: all of the size class, or whole pages (`mem::heap`).
pub const fn heap_bytes(bytes: usize) -> u64 {
    if bytes > SMALL_MAX_BYTES {
        return (bytes as u64).next_multiple_of(PAGE);
    }
    let mut class = 0;
    while CLASS_BYTES[class] < bytes {
        class += 1
    }
    if bytes == 0 {
        0
    } else {
        CLASS_BYTES[class] as u64
    }
}

/// What one process may use. Charges outlive the process if what was charged does, such as memory that others share.
pub struct Account {
    used_bytes: AtomicU64,
    limit_bytes: u64,
    job: Arc<Job>,
    spare: fn(u64) -> bool,
}

/// Bytes that are counted for as long as it is there.
pub struct Charge {
    account: Arc<Account>,
    bytes: u64,
}

impl Account {
    /// An account of `limit_bytes` for a process of `job`. `spare` says whether the machine itself has so many bytes to spare now.
    pub fn new(limit_bytes: u64, job: Arc<Job>, spare: fn(u64) -> bool) -> Arc<Account> {
        Arc::new(Account {
            used_bytes: AtomicU64::new(0),
            limit_bytes,
            job,
            spare,
        })
    }

    /// Bytes that may be.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes that are charged now.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    /// Counts what the heap takes for an object of `bytes` bytes.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub fn charge_heap(self: &Arc<Self>, bytes: u64) -> Result<Charge, Error> {
        let bytes = usize::try_from(bytes).map_err(|_| Error::OutOfMemory)?;
        self.charge(heap_bytes(bytes))
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// `OutOfMemory`: the limit, the job, or the machine, allows no more.
    pub fn charge(self: &Arc<Self>, bytes: u64) -> Result<Charge, Error> {
        if !(self.spare)(bytes) {
            return Err(Error::OutOfMemory);
        }
        let more = |used: u64| {
            used.checked_add(bytes)
                .filter(|&all| all <= self.limit_bytes)
        };
        let within = self.used_bytes.fetch_update(Relaxed, Relaxed, more);
        within.map_err(|_| Error::OutOfMemory)?;
        if !self.job.memory.take(bytes) {
            self.used_bytes.fetch_sub(bytes, Relaxed);
            return Err(Error::OutOfMemory);
        }
        Ok(Charge {
            account: self.clone(),
            bytes,
        })
    }
}

impl Charge {
    /// Bytes that it counts.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.used_bytes.fetch_sub(self.bytes, Relaxed);
        self.account.job.memory.give(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_end_with_what_was_charged() {
        let account = Account::new(100, Job::new(), |_| true);
        let most = account.charge(90).unwrap();
        assert_eq!(account.charge(11).err(), Some(Error::OutOfMemory));
        assert_eq!(account.charge(u64::MAX).err(), Some(Error::OutOfMemory));
        let rest = account.charge(10).unwrap();
        drop(most);
        assert_eq!(account.used_bytes(), 10);
        drop(rest);
        assert_eq!(account.used_bytes(), 0);
    }

    #[test]
    fn a_job_limits_what_its_processes_keep_in_the_kernel() {
        let job = Job::with_memory(150);
        let (a, b) = (
            Account::new(100, job.clone(), |_| true),
            Account::new(100, job.clone(), |_| true),
        );
        let most = a.charge(100).unwrap();
        assert_eq!(b.charge(51).err(), Some(Error::OutOfMemory));
        assert_eq!((b.used_bytes(), job.used_bytes()), (0, 100));
        drop(most);
        let all = b.charge(100).unwrap();
        drop(b); // what was charged is still there
        assert_eq!(job.used_bytes(), 100);
        drop(all);
        assert_eq!(job.used_bytes(), 0);
    }

    /// As `mem` gives it out: no object takes more than it counts for.
    #[test]
    fn objects_count_for_what_the_heap_takes() {
        for bytes in 0..=SMALL_MAX_BYTES {
            let layout = core::alloc::Layout::from_size_align(bytes, 8).unwrap();
            let class = mem::class::class_of(layout).map(|class| CLASS_BYTES[class]);
            let takes = if bytes == 0 { Some(0) } else { class };
            assert_eq!(Some(heap_bytes(bytes) as usize), takes, "{bytes}");
        }
        for (bytes, takes) in [(2049, 4096), (4096, 4096), (4097, 8192), (65_536, 65_536)] {
            assert_eq!(heap_bytes(bytes), takes)
        }
        let account = Account::new(4096, Job::new(), |_| true);
        let page = account.charge_heap(2049).unwrap();
        assert_eq!(page.bytes(), 4096);
        assert!(account.charge_heap(1).is_err() && account.charge_heap(u64::MAX - 4096).is_err());
    }

    #[test]
    fn the_machine_has_a_say() {
        let account = Account::new(100, Job::new(), |bytes| bytes < 10);
        assert!(account.charge(9).is_ok());
        assert_eq!(account.charge(10).err(), Some(Error::OutOfMemory));
    }
}
