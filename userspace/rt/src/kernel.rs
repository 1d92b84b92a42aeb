//! On the host machine, in the kernel's place: the few system calls that tests need, made of `std`'s threads. All others are
//! [`Error::NoSuchCall`].

use crate::shim::AtomicU32;
use abi::{Call, Error};
use std::time::{Duration, Instant};

#[cfg(ringo_loom)]
mod sleepers_loom;
#[cfg(ringo_loom)]
use sleepers_loom as sleepers;
#[cfg(ringo_loom)]
pub(crate) use sleepers_loom::begin;
#[cfg(not(ringo_loom))]
mod sleepers;

/// # Safety
///
/// As on the bare machine.
pub(crate) unsafe fn call(number: u64, args: [u64; 6]) -> i64 {
    match Call::from_number(number) {
        Some(Call::Null) => 0,
        Some(Call::Now) => now(),
        Some(Call::NumCpu) => std::thread::available_parallelism().map_or(1, |n| n.get() as i64),
        Some(Call::Yield) => {
            std::thread::yield_now();
            0
        }
        Some(Call::Sleep) => {
            std::thread::sleep(Duration::from_nanos(args[0]));
            0
        }
        Some(Call::FutexWait) => {
            // SAFETY: the caller's word lives as long as the call.
            let word = unsafe { &*(args[0] as *const AtomicU32) };
            sleepers::wait(word, args[1] as u32, args[2])
        }
        Some(Call::FutexWake) => sleepers::wake(args[0], args[1]),
        _ => Error::NoSuchCall as i64,
    }
}

fn now() -> i64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as i64
}
