//! The host's monotonic clock, from the first question on.

use std::sync::OnceLock;

/// The clock, which must be the one that an absolute FUTEX_WAIT_BITSET uses.
pub(super) const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;

static BASE_NS: OnceLock<u64> = OnceLock::new();

fn raw_ns() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is valid for the write. The clock exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(CLOCK, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Reading of [`CLOCK`] that is 0 for [`now_ns`].
pub(super) fn clock_base_ns() -> u64 {
    *BASE_NS.get_or_init(raw_ns)
}

#[cfg(ringo_shuttle)]
pub use super::model::now_ns;

/// In models, by how much time goes on at each look at the clock.
#[cfg(ringo_shuttle)]
pub(super) const STEP_NS: u64 = 2_000;

/// Nanoseconds since the process asked first; never goes back, the same on all threads.
#[cfg(not(ringo_shuttle))]
#[inline]
pub fn now_ns() -> u64 {
    let base = clock_base_ns();
    raw_ns() - base
}

/// Where the time comes from, for people.
pub fn clock_source() -> &'static str {
    "CLOCK_MONOTONIC of the host"
}

/// Spins for `ns` nanoseconds.
pub fn spin_wait_ns(ns: u64) {
    let end = now_ns().saturating_add(ns);
    while now_ns() < end {
        core::hint::spin_loop();
    }
}
