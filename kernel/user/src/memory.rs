//! The memory of the process that calls, as the calls see it. Addresses are the program's: any number may come.

use crate::asleep::Asleep;
use abi::Error;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Something that words lie in: the memory of one process that nobody else has, or a memory that is shared. No two are ever the
/// same, also if one is gone, as page frames are: these go from one to the other while somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u64);

impl Owner {
    /// A new one.
    #[allow(clippy::new_without_default)] // each is another one
    pub fn new() -> Owner {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Owner(LAST.fetch_add(1, Relaxed)) // the number alone counts
    }
}

/// Where a word lies, whoever maps it at which address: what a futex is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordKey {
    owner: Owner,
    at: u64,
}

impl WordKey {
    /// The word at `at` of `owner`, in bytes: an address of the process, or an offset in what is shared.
    pub fn of(owner: Owner, at: u64) -> WordKey {
        WordKey { owner, at }
    }

    /// Whether it is one of `owner`'s.
    pub fn is_of(self, owner: Owner) -> bool {
        self.owner == owner
    }

    /// Its bits, mixed (Knuth): words are multiples of 4, and differ in their low bits.
    pub(crate) fn hash(self) -> u64 {
        let mix = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mix((self.at >> 2) ^ mix(self.owner.0 + 1).rotate_left(32))
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

    /// What counts the threads that sleep on this word, if it is memory of one process alone (`asleep.rs`).
    fn sleepers(&self, _word: WordKey) -> Option<&Asleep> {
        None
    }
}
