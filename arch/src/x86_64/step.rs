//! Single steps: an interrupt at a chosen instruction, whatever runs there (SDM vol. 3, 18.3.1.4: the trap flag). For tests.
//!
//! While a CPU steps, each instruction ends in a debug exception, in ring 0 as in any code: guards held, interrupts off, on g0, in
//! the middle of the context switch or of the injected call. The handler counts them, and at the chosen one does what the timer's
//! does: it sets a pending bit and injects a call, if that may be (preempt.rs). So running something once with each number in turn
//! interrupts it at every instruction.
//!
//! ```text
//!          on                       off
//!   0 ───────────► stepping (1) ───────────► was stepping (2): frames that hold the flag lose it when they come back
//!                       ▲                         │
//!                       └─────────────────────────┘ on
//! ```
//!
//! Code that was interrupted before `on` comes back without the flag; what it calls is stepped again after the next frame that has
//! it. Meant for one CPU: a G takes the flag along.
//!
//! The other way to step ([`step_all`], state 3, for good) is for many interrupts: Gs step while they hold the flag themselves, on
//! whatever CPU, and each CPU interrupts after a number of steps that chance says anew each time. The injected call runs without
//! the flag, at full speed, and the frame that it goes back to has it. So the flag must not be held over a way into the scheduler
//! that the G takes itself: g0 would step, and whoever comes next.

use super::percpu::{Cpu, cpu};
use core::arch::asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;

fn set64(offset: usize, value: u64) {
    // SAFETY: the offset of a 64-bit word of this CPU's block, which nobody else uses.
    unsafe {
        asm!("mov gs:[{o}], {v}", o = in(reg) offset, v = in(reg) value, options(nostack, preserves_flags))
    }
}

/// This CPU steps from here on.
pub fn step_on() {
    step_at(0);
    set32(offset_of!(Cpu, stepping), 1);
    set32(offset_of!(Cpu, tramp_rflags), 0x302);
    // SAFETY: sets the trap flag, for which the handler is ready.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") }
}

/// It no longer does.
pub fn step_off() {
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -257", "popfq") }
    set32(offset_of!(Cpu, tramp_rflags), 0x202);
    set32(offset_of!(Cpu, stepping), 2)
}

/// RFLAGS.TF (SDM vol. 3, 2.3).
pub const TRAP_FLAG: u64 = 1 << 8;

/// On each CPU, what a G runs with [`TRAP_FLAG`] is interrupted after 1 to `most` instructions (a power of two), by chance, and
/// again after the next so many. Once, before any G holds the flag.
///
/// # Panics
/// If `most` is no power of two.
pub fn step_all(cpus: usize, most: u64, seed: u64) {
    assert!(most.is_power_of_two(), "{most} is no power of two");
    for id in 0..cpus {
        let cpu = cpu(id);
        // A G that holds the flag was made, or told, after this: queues and joins order it behind.
        cpu.step_mask.store(most - 1, Relaxed);
        cpu.step_at.store(seed.wrapping_add(id as u64), Relaxed);
        cpu.step_n.store(1, Relaxed);
        cpu.stepping.store(3, Relaxed)
    }
}

/// Runs `what` with the trap flag. It must come into the scheduler by injected calls only.
pub fn stepped<T>(what: impl FnOnce() -> T) -> T {
    // SAFETY: sets the trap flag, for which the handler is ready.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") }
    let result = what();
    // SAFETY: clears the trap flag.
    unsafe { asm!("pushfq", "and qword ptr [rsp], -257", "popfq") }
    result
}

/// Interrupts that the periodic steps of CPU `id` have made.
pub fn step_interrupts(id: usize) -> u64 {
    cpu(id).n_steps.load(Relaxed)
}

/// Counts from 0 again; the instruction of this number is interrupted, none for 0.
pub fn step_at(number: u64) {
    set64(offset_of!(Cpu, step_at), number);
    set64(offset_of!(Cpu, step_n), 0)
}

/// Instructions since [`step_at`].
pub fn steps() -> u64 {
    let n;
    // SAFETY: one load from this CPU's block.
    unsafe {
        asm!("mov {}, gs:[{o}]", out(reg) n, o = const offset_of!(Cpu, step_n), options(nostack, preserves_flags, readonly))
    };
    n
}

fn set32(offset: usize, value: u32) {
    // SAFETY: the offset of a 32-bit word of this CPU's block.
    unsafe {
        asm!("mov gs:[{o}], {v:e}", o = in(reg) offset, v = in(reg) value, options(nostack, preserves_flags))
    }
}
