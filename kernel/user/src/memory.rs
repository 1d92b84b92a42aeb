//! The memory of the process that calls, as the calls see it. Addresses are the program's: any number may come.

use abi::Error;

/// Where a word lies, whoever maps it at which address: what a futex is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordKey(u64);

impl WordKey {
    /// The word at physical address `phys`.
    pub fn of(phys: u64) -> WordKey {
        WordKey(phys)
    }

    /// It, as what a waiter carries.
    pub(crate) fn mark(self) -> *mut () {
        core::ptr::without_provenance_mut(self.0 as usize)
    }
}

/// A process's memory. Bytes that the program has mapped, and nothing else, can be reached; all else is [`Error::BadAddress`]. Pages that
/// nobody has touched yet are backed on the way, so each of these may give [`Error::OutOfMemory`].
pub trait UserMemory {
    /// Fills `to` from address `from` on.
    ///
    /// # Errors
    /// `BadAddress`, `OutOfMemory`; some of `to` may be filled.
    fn copy_in(&self, from: u64, to: &mut [u8]) -> Result<(), Error>;

    /// Writes `from` to address `to` and on.
    ///
    /// # Errors
    /// `BadAddress`, `OutOfMemory`; some of it may be written.
    fn copy_out(&self, to: u64, from: &[u8]) -> Result<(), Error>;

    /// Whether `bytes` bytes from `to` on could be written now, their pages being backed. Asked before what would be lost is taken; another
    /// thread may still unmap them.
    ///
    /// # Errors
    /// `BadAddress`, `OutOfMemory`.
    fn check_out(&self, to: u64, bytes: u64) -> Result<(), Error>;

    /// Where the `u32` at `address` lies, its page being backed. Also of memory that can only be read.
    ///
    /// # Errors
    /// `BadAddress`, also if it is no multiple of 4; `OutOfMemory`.
    fn word_key(&self, address: u64) -> Result<WordKey, Error>;

    /// The `u32` at `address`, of which [`word_key`](Self::word_key) was asked. Called with a lock of rank `Channel` held: it does not wait,
    /// and backs nothing.
    ///
    /// # Errors
    /// `BadAddress`: another thread has unmapped it.
    fn load_u32(&self, address: u64) -> Result<u32, Error>;
}
