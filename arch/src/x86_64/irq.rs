//! The interrupt flag of this CPU, and the halt that goes with it.

use super::preempt::look_after_sti;
use core::arch::asm;

/// Whether this CPU takes interrupts (RFLAGS.IF).
#[inline(always)]
pub fn irqs_enabled() -> bool {
    let flags: u64;
    // SAFETY: reads RFLAGS by way of the stack.
    unsafe { asm!("pushfq", "pop {}", out(reg) flags, options(preserves_flags)) };
    flags & 0x200 != 0
}

/// No interrupts on this CPU from here on.
#[inline(always)]
pub fn irq_disable() {
    // SAFETY: only delays handlers; memory operands stay behind it (no `nomem`).
    unsafe { asm!("cli", options(nostack)) };
}

/// Interrupts again; work that came meanwhile is done first if `preempt_count` is 0.
#[inline(always)]
pub fn irq_enable() {
    // SAFETY: handlers may run from here on; they touch only this CPU's block and what an injected call may.
    unsafe { asm!("sti", options(nostack)) };
    look_after_sti();
}

/// Disables interrupts and says whether they were enabled, for [`irq_restore`].
#[inline(always)]
pub fn irq_save() -> bool {
    let was = irqs_enabled();
    irq_disable();
    was
}

/// Ends what [`irq_save`] began.
#[inline(always)]
pub fn irq_restore(was_enabled: bool) {
    if was_enabled {
        irq_enable();
    }
}

/// Waits for an interrupt. Interrupts are disabled when called and the caller has looked at `pending` and its wake word
/// since; enabled on return. An interrupt between that look and the halt is not lost: `sti` takes effect only after `hlt`
/// has begun.
#[inline(always)]
pub fn halt() {
    // SAFETY: a handler runs and returns here.
    unsafe { asm!("sti", "hlt", options(nostack)) };
}
