//! Memory that processes share.

use crate::{Handle, Result, syscall};
use abi::Call;
use core::sync::atomic::AtomicU32;

/// Memory to share, zeroed when it is made. It goes with the last handle and the last mapping.
#[derive(Debug)]
pub struct Shm {
    handle: Handle,
}

impl Shm {
    /// `bytes` of it, a whole number of pages.
    ///
    /// # Errors
    ///
    /// [`abi::Error::BadArgument`]: no whole number of pages; [`abi::Error::OutOfMemory`].
    pub fn new(bytes: usize) -> Result<Shm> {
        // SAFETY: touches no memory of ours.
        let handle = unsafe { syscall::call(Call::Shm, [bytes as u64]) }?;
        Ok(Shm {
            handle: Handle::new(handle),
        })
    }

    /// The memory that the process was given as that handle.
    pub fn given(number: u32) -> Shm {
        Shm {
            handle: Handle::given(number),
        }
    }

    /// Its size in bytes.
    ///
    /// # Errors
    ///
    /// [`abi::Error::BadHandle`]: it is no memory.
    pub fn size(&self) -> Result<usize> {
        // SAFETY: touches no memory of ours.
        unsafe { syscall::call(Call::Size, [self.handle.number().into()]) }.map(|n| n as usize)
    }

    /// Maps all of it, to read and write.
    ///
    /// # Errors
    ///
    /// [`abi::Error::OutOfMemory`]: more than the process may have.
    pub fn map(&self) -> Result<Mapped> {
        let bytes = self.size()?;
        // SAFETY: fresh addresses, used by nobody yet.
        let address = unsafe { syscall::call(Call::ShmMap, [self.handle.number().into(), 0]) }?;
        Ok(Mapped {
            address: address as *mut u8,
            bytes,
        })
    }
}

impl AsRef<Handle> for Shm {
    fn as_ref(&self) -> &Handle {
        &self.handle
    }
}

/// A mapping of shared memory; unmapped when dropped.
#[derive(Debug)]
pub struct Mapped {
    address: *mut u8,
    bytes: usize,
}

// SAFETY: an address of memory that all threads share; what is safe to call on it gives atomics.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// All of it as words that any process may change at any time; the functions of [`futex`](crate::futex) work on them between
    /// processes.
    pub fn words(&self) -> &[AtomicU32] {
        // SAFETY: mapped while `self` lives, page-aligned, a whole number of pages; atomics may be changed by others.
        unsafe { core::slice::from_raw_parts(self.address.cast(), self.bytes / 4) }
    }

    /// Where it begins. Other processes may change what is there.
    pub fn as_ptr(&self) -> *mut u8 {
        self.address
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any more.
        let _ = unsafe { syscall::call(Call::Unmap, [self.address as u64, self.bytes as u64]) };
    }
}
