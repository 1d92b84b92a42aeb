//! Sleeping until a word changes (Go: `futexsleep`, `futexwakeup` in `runtime/os_linux.go`).
//!
//! The kernel compares and falls asleep in one step, so a change with a wake-up after it is never missed. A sleeper may wake
//! without reason: whoever waits looks at the word again.

use crate::shim::AtomicU32;
use crate::{Result, syscall};
use abi::{Call, FOREVER};
use core::time::Duration;

/// Sleeps while `word` is `expected`, until a wake-up.
///
/// # Errors
///
/// [`abi::Error::Again`]: it was not `expected`.
pub fn wait(word: &AtomicU32, expected: u32) -> Result<()> {
    wait_ns(word, expected, FOREVER)
}

/// As [`wait`], at most for `timeout`.
///
/// # Errors
///
/// As [`wait`]; [`abi::Error::TimedOut`].
pub fn wait_timeout(word: &AtomicU32, expected: u32, timeout: Duration) -> Result<()> {
    wait_ns(word, expected, crate::time::ns(timeout))
}

fn wait_ns(word: &AtomicU32, expected: u32, ns: u64) -> Result<()> {
    let address = core::ptr::from_ref(word) as u64;
    // SAFETY: the kernel reads the word, which lives as long as the call.
    unsafe { syscall::call(Call::FutexWait, [address, expected.into(), ns]) }.map(|_| ())
}

/// Wakes up to `n` sleepers; how many. The word may be gone by now: its address is all that is used.
pub fn wake(word: *const AtomicU32, n: u32) -> u64 {
    // SAFETY: nothing is read or written. An address that is no longer mapped is an error, and nobody sleeps there.
    unsafe { syscall::call(Call::FutexWake, [word as u64, n.into()]) }.unwrap_or(0)
}

/// Nobody sleeps: a model begins.
#[cfg(ringo_loom)]
#[doc(hidden)]
pub fn begin_model() {
    crate::kernel::begin()
}
