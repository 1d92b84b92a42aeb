//! Objects of the kernel, by their numbers.

use crate::{Result, syscall};
use abi::Call;

/// A handle of this process: a number for an object of the kernel. Closed when dropped; the object goes with the last handle to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The handle of that number: one that the process was started with, from 3 on. It is closed when the answer is dropped.
    pub fn given(number: u32) -> Handle {
        Handle(number)
    }

    /// What a call has answered.
    pub(crate) fn new(answer: u64) -> Handle {
        Handle(answer as u32)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0
    }

    /// Another handle to the same.
    ///
    /// # Errors
    ///
    /// [`abi::Error::Limit`]: the process has as many as it may.
    pub fn duplicate(&self) -> Result<Handle> {
        // SAFETY: touches no memory of ours.
        unsafe { syscall::call(Call::Duplicate, [self.0.into()]) }.map(Handle::new)
    }

    /// A call that makes two handles.
    ///
    /// # Safety
    ///
    /// As for [`syscall::call`]; its last argument is the place for two numbers, `first` the ones before.
    pub(crate) unsafe fn pair<const N: usize>(call: Call, first: [u64; N]) -> Result<[Handle; 2]> {
        let mut pair = [0u32; 2];
        let mut args = [0; 6];
        args[..N].copy_from_slice(&first);
        args[N] = pair.as_mut_ptr() as u64;
        // SAFETY: the kernel writes two numbers to `pair`; the rest is the caller's promise.
        unsafe { syscall::call(call, args) }?;
        Ok(pair.map(Handle))
    }
}

impl AsRef<Handle> for Handle {
    fn as_ref(&self) -> &Handle {
        self
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: touches no memory of ours. A handle that is none any more needs no closing.
        let _ = unsafe { syscall::call(Call::Close, [self.0.into()]) };
    }
}
