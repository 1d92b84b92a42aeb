//! The clock: this CPU's time stamp counter, scaled. Ticks of a timer are only wake-ups: hosts merge and lose them.

use core::arch::asm;
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

/// Nanoseconds a tick, times 2^32. Until calibration: as if 2 GHz, so that bounded waits end.
static NS_PER_TICK: AtomicU64 = AtomicU64::new(1 << 31);
/// The counters of two CPUs differ: `now_ns` then takes the newest time that any CPU has seen.
static SKEWED: AtomicBool = AtomicBool::new(false);
static NEWEST: AtomicU64 = AtomicU64::new(0);

/// The raw counter, not before earlier loads of this CPU.
#[inline(always)]
pub fn ticks() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter.
    unsafe {
        asm!("lfence", "rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Nanoseconds since the machine was switched on. Never goes back, on whichever CPU.
#[inline]
pub fn now_ns() -> u64 {
    let ns = ((u128::from(ticks()) * u128::from(NS_PER_TICK.load(Relaxed))) >> 32) as u64;
    if SKEWED.load(Relaxed) {
        ns.max(NEWEST.fetch_max(ns, AcqRel))
    } else {
        ns
    }
}

/// Waits that long, spinning. Interrupts are taken meanwhile if they are enabled.
pub fn spin_wait_ns(ns: u64) {
    let end = now_ns().saturating_add(ns);
    while now_ns() < end {
        core::hint::spin_loop();
    }
}

/// Says that two CPUs were found with counters that differ.
pub fn set_skewed() {
    SKEWED.store(true, Relaxed);
}

struct Text([u8; 80], usize);
static mut SOURCE: Text = Text([0; 80], 0);
static SOURCE_LEN: AtomicUsize = AtomicUsize::new(0);

impl Write for Text {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = self
            .0
            .get_mut(self.1..self.1 + s.len())
            .ok_or(core::fmt::Error)?;
        room.copy_from_slice(s.as_bytes());
        self.1 += s.len();
        Ok(())
    }
}

/// Sets the frequency and the words of [`clock_source`].
///
/// # Safety
/// Once, on the first CPU, before others run.
pub unsafe fn set_hz(hz: u64, source: &str) {
    NS_PER_TICK.store(((1_000_000_000u128 << 32) / u128::from(hz)) as u64, Relaxed);
    let text = &raw mut SOURCE;
    // SAFETY: nobody reads before SOURCE_LEN is stored.
    let text = unsafe { &mut *text };
    let _ = write!(
        text,
        "TSC {}.{} MHz by {source}",
        hz / 1_000_000,
        hz / 100_000 % 10
    );
    SOURCE_LEN.store(text.1, Release);
}

/// What the clock is and how it was measured, such as `TSC 2595.1 MHz by HPET`. Before calibration: "TSC, not calibrated".
pub fn clock_source() -> &'static str {
    let n = SOURCE_LEN.load(Acquire); // pairs with the Release in `set_hz`
    if n == 0 {
        return "TSC, not calibrated";
    }
    let text = &raw const SOURCE;
    // SAFETY: written once, before the length was.
    let bytes: &'static [u8] = unsafe { &(*text).0 };
    core::str::from_utf8(&bytes[..n]).unwrap_or("TSC")
}
