//! The stacks of a CPU itself: g0, one for each IST slot, one for fatal reports; an unmapped page below each.
//!
//! ```text
//! KSTACK_BASE + cpu * 256 KiB:   (. = guard page)
//!   . g0 64K  . fatal 32K  . nmi 16K  . page fault 16K  . double fault 8K  . exception 8K  . irq 4K  . machine check 4K  . debug 4K
//! ```
//!
//! Handlers of interrupts use some fifty bytes. Reports of exceptions move to the fatal stack at once, which formats; the
//! NMI's last words and the page fault upcall run on their IST stacks.

use super::bare::{FrameSource, KSTACK_BASE};
use super::gdt;
use super::paging::{self, NoFrames};
use super::percpu;
use super::trap::Ist;
use crate::MAX_CPUS;
use core::sync::atomic::Ordering::*;

const STRIDE: u64 = 256 << 10;

#[derive(Clone, Copy)]
enum Use {
    G0,
    Fatal,
    Ist(Ist),
}

/// (what, pages), from the low end.
const STACKS: [(Use, u64); 9] = [
    (Use::G0, 16),
    (Use::Fatal, 8),
    (Use::Ist(Ist::Nmi), 4),
    (Use::Ist(Ist::PageFault), 4),
    (Use::Ist(Ist::DoubleFault), 2),
    (Use::Ist(Ist::Exception), 2),
    (Use::Ist(Ist::Interrupt), 1),
    (Use::Ist(Ist::MachineCheck), 1),
    (Use::Ist(Ist::Debug), 1),
];

/// Calls `f(what, low end, high end)` for each stack of `cpu`.
fn each(cpu: usize, mut f: impl FnMut(Use, u64, u64)) {
    let mut at = KSTACK_BASE + cpu as u64 * STRIDE;
    for (what, pages) in STACKS {
        let low = at + 4096;
        at = low + pages * 4096;
        f(what, low, at);
    }
    debug_assert!(at <= KSTACK_BASE + (cpu as u64 + 1) * STRIDE);
}

/// Backs the stacks of `cpu` (156 KiB).
///
/// # Safety
/// Once per CPU, before it runs on them; `root` is the kernel's level 4 table.
pub unsafe fn map(root: u64, cpu: usize, frames: FrameSource) -> Result<(), NoFrames> {
    let mut result = Ok(());
    each(cpu, |_, low, high| {
        for page in (low..high).step_by(4096) {
            if result.is_ok() {
                // SAFETY: fresh frames, in a window that is ours.
                result = frames().ok_or(NoFrames).and_then(|frame| unsafe {
                    paging::map_small(root, page, frame, 4096, paging::DATA, frames)
                });
            }
        }
    });
    result
}

/// Points the TSS and the block of `cpu` at its stacks.
pub fn use_stacks(cpu: usize) {
    let block = percpu::cpu(cpu);
    each(cpu, |what, _, high| match what {
        Use::G0 => block.g0_top.store(high as usize, Relaxed),
        Use::Fatal => block.fatal_top.store(high as usize, Relaxed),
        // SAFETY: `map` has backed it, and it belongs to this slot of this CPU alone.
        Use::Ist(ist) => unsafe { gdt::set_ist(cpu, ist, high) },
    });
}

#[repr(align(16))]
struct Early([u8; 16 << 10], [u8; 32 << 10]);
static mut EARLY: Early = Early([0; 16 << 10], [0; 32 << 10]);

/// Before `init_paging`: one static stack for all vectors and one for reports. Without guard pages.
pub fn use_early_stacks() {
    // SAFETY: addresses only.
    let (ist, fatal) = unsafe {
        (
            &raw const EARLY.0 as u64 + (16 << 10),
            &raw const EARLY.1 as usize + (32 << 10),
        )
    };
    for slot in [
        Ist::DoubleFault,
        Ist::Nmi,
        Ist::MachineCheck,
        Ist::PageFault,
        Ist::Debug,
        Ist::Exception,
        Ist::Interrupt,
    ] {
        // SAFETY: the first CPU alone runs; nothing nests before `init_paging` but an exception in a report, which ends it.
        unsafe { gdt::set_ist(0, slot, ist) };
    }
    percpu::cpu(0).fatal_top.store(fatal, Relaxed);
}

/// Whether `address` lies in a guard page of a CPU's stacks or of the boot stack.
pub fn is_guard(address: u64) -> bool {
    if address.wrapping_sub(paging::boot_stack_guard_address()) < 4096 {
        return true;
    }
    let at = address.wrapping_sub(KSTACK_BASE);
    if at >= STRIDE * MAX_CPUS as u64 {
        return false;
    }
    let mut guard = true;
    each((at / STRIDE) as usize, |_, low, high| {
        guard &= !(low <= address && address < high)
    });
    guard
}
