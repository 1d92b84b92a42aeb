//! Preemption count, pending word, and the flag that stands for IF.
//!
//! Nothing is injected here. What an injected call does on the bare machine, the drop of the last guard does: it calls
//! `safe_point` if `pending` is set. Since no interrupt sets [`PENDING_TIMER`] behind a running G's back, the drop also
//! looks at the clock now and then while a timer is armed.

use super::cpu::{Cpu, this};
#[cfg(not(ringo_shuttle))]
use super::time::now_ns;
#[cfg(not(ringo_shuttle))]
use crate::PENDING_TIMER;
use crate::upcalls;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

/// Guard drops between two looks at the clock (25 ns each) while a timer is armed.
#[cfg(not(ringo_shuttle))]
const DROPS_PER_LOOK: u32 = 64;

/// Raises this CPU's count: no switch to another G until it is lowered again.
#[inline]
pub fn preempt_disable() {
    let cpu = this();
    cpu.count.set(cpu.count.get() + 1);
}

/// Lowers the count. At 0, with interrupts enabled and work pending, calls the kernel's `safe_point` (I-PENDING), which
/// may switch: the caller may find itself on another thread afterwards.
///
/// # Panics
/// In debug builds if the count is 0.
#[inline]
pub fn preempt_enable() {
    let cpu = this();
    debug_assert!(
        cpu.count.get() > 0,
        "preempt_enable without preempt_disable"
    );
    cpu.count.set(cpu.count.get().wrapping_sub(1));
    if cpu.count.get() == 0 && (cpu.parker.pending.load(Relaxed) != 0 || time_to_look(cpu)) {
        serve();
    }
}

/// Counts guard drops while a timer is armed.
#[inline]
fn time_to_look(cpu: &Cpu) -> bool {
    if cpu.deadline_ns.get() == u64::MAX {
        return false;
    }
    let left = cpu.drops_to_look.get();
    cpu.drops_to_look.set(left.saturating_sub(1));
    left == 0
}

#[cold]
#[inline(never)]
fn serve() {
    loop {
        let cpu = this();
        look_at_clock(cpu);
        // A plain thread has no G that could be interrupted; on the bare machine its like runs with the count above 0.
        if !cpu.irqs_on.get() || cpu.curg.get().is_null() || cpu.parker.pending.load(Relaxed) == 0 {
            return;
        }
        cpu.count.set(1);
        (upcalls::upcalls().safe_point)();
        // Perhaps another thread by now.
        let cpu = this();
        cpu.count.set(cpu.count.get() - 1);
    }
}

#[cfg(ringo_shuttle)]
pub(super) use super::model::look_at_clock;

/// Fires the timer if its deadline has passed.
#[cfg(not(ringo_shuttle))]
pub(super) fn look_at_clock(cpu: &Cpu) {
    cpu.drops_to_look.set(DROPS_PER_LOOK);
    let deadline_ns = cpu.deadline_ns.get();
    if deadline_ns != u64::MAX && now_ns() >= deadline_ns {
        cpu.deadline_ns.set(u64::MAX);
        cpu.parker.pending.fetch_or(PENDING_TIMER, SeqCst);
    }
}

/// The count of the CPU on which the caller runs.
#[inline]
pub fn preempt_count() -> u32 {
    this().count.get()
}

/// This CPU's pending bits, as they are.
#[inline]
pub fn pending() -> u32 {
    this().parker.pending.load(Relaxed)
}

/// Takes this CPU's pending bits and leaves none. Fires the timer first if its deadline has passed.
#[inline]
pub fn take_pending() -> u32 {
    let cpu = this();
    if cpu.deadline_ns.get() != u64::MAX {
        look_at_clock(cpu);
    }
    // Pairs with the `fetch_or` in `Parker::wake`.
    cpu.parker.pending.swap(0, SeqCst)
}

/// Sets bits in this CPU's own pending word.
#[inline]
pub fn raise_pending(bits: u32) {
    this().parker.pending.fetch_or(bits, SeqCst);
}

/// On the bare machine: where RSP must lie for an injected call. Nothing is injected here.
///
/// # Safety
/// As on the bare machine: `lo < hi` bound the stack of the G that this CPU is about to resume, or both are 0.
#[inline]
pub unsafe fn set_window(lo: usize, hi: usize) {
    debug_assert!(lo <= hi, "set_window({lo:#x}, {hi:#x})");
}

/// Clears the interrupt flag and says whether it was set.
#[inline]
pub fn irq_save() -> bool {
    this().irqs_on.replace(false)
}

/// Ends what [`irq_save`] began.
#[inline]
pub fn irq_restore(were_on: bool) {
    if were_on {
        irq_enable();
    }
}

/// Clears the interrupt flag: no `safe_point` by a guard's drop.
#[inline]
pub fn irq_disable() {
    this().irqs_on.set(false);
}

/// Sets the interrupt flag; work that came meanwhile is done first if the count is 0.
#[inline]
pub fn irq_enable() {
    let cpu = this();
    cpu.irqs_on.set(true);
    if cpu.count.get() == 0 && cpu.parker.pending.load(Relaxed) != 0 {
        serve();
    }
}

/// Whether the interrupt flag is set.
#[inline]
pub fn irqs_enabled() -> bool {
    this().irqs_on.get()
}
