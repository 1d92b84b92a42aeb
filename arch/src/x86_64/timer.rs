//! The one-shot timer of each CPU's local APIC.

use super::trap::VECTOR_TIMER;
use super::{apic, tsc};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Timer ticks a nanosecond, times 2^32; set by calibration.
static TICKS_PER_NS: AtomicU64 = AtomicU64::new(1 << 32);

/// Sets the timer's frequency.
pub fn set_hz(hz: u64) {
    TICKS_PER_NS.store(((u128::from(hz) << 32) / 1_000_000_000) as u64, Relaxed);
}

/// Divider 1, one-shot, stopped.
pub fn init_cpu() {
    apic::write(apic::TIMER_DIVIDE, 0b1011);
    apic::write(apic::LVT_TIMER, VECTOR_TIMER as u32);
    apic::write(apic::TIMER_INITIAL, 0);
}

/// Arms this CPU's timer for `deadline_ns` on the clock of `now_ns`, in place of what it was armed for. A deadline in the
/// past fires at once. One further away than the counter reaches (some seconds) fires early: callers look at the clock.
#[inline]
pub fn arm_timer(deadline_ns: u64) {
    let ns = deadline_ns.saturating_sub(tsc::now_ns());
    let ticks = (u128::from(ns) * u128::from(TICKS_PER_NS.load(Relaxed))) >> 32;
    apic::write(
        apic::TIMER_INITIAL,
        ticks.clamp(1, u128::from(u32::MAX)) as u32,
    );
}

/// Stops this CPU's timer. An interrupt that is already on its way still comes.
#[inline]
pub fn disarm_timer() {
    apic::write(apic::TIMER_INITIAL, 0);
}
