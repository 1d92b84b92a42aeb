//! Ring 3: how a goroutine runs a program's instructions, and how it gets back.
//!
//! | file | what |
//! |---|---|
//! | `context` | registers of a thread: [`UserContext::run`] |
//! | `enter` | the way in and out: `sysret`, `syscall`, exceptions, interrupts |
//! | `space` | address spaces, and making CPUs forget them |

mod context;
mod enter;
mod space;

pub use context::UserContext;
pub use space::{Access, Space, USER_BASE, USER_END};

use core::sync::atomic::{AtomicBool, Ordering::*};
use x86_64::VirtAddr;
use x86_64::registers::model_specific::{Efer, EferFlags, KernelGsBase, LStar, Msr, SFMask};
use x86_64::registers::rflags::RFlags;

/// Selectors that ring 3 runs with (gdt.rs).
const USER_CS: u64 = 0x23;
const USER_SS: u64 = 0x1b;

/// IA32_STAR: `syscall` loads CS from bits 47:32 and SS = that + 8, `sysretq` CS = bits 63:48 + 16 and SS = that + 8.
const STAR: u32 = 0xc000_0081;
const STAR_VALUE: u64 = 0x10 << 48 | 0x08 << 32;

/// What `syscall` clears: nothing may interrupt or step it before it has a stack; DF, AC and NT are the program's.
const MASK: RFlags = RFlags::INTERRUPT_FLAG
    .union(RFlags::TRAP_FLAG)
    .union(RFlags::DIRECTION_FLAG)
    .union(RFlags::NESTED_TASK)
    .union(RFlags::ALIGNMENT_CHECK)
    .union(RFlags::IOPL_HIGH)
    .union(RFlags::IOPL_LOW);

/// Makes `syscall` work on the calling CPU.
///
/// # Safety
/// Once per CPU, interrupts off; GDT and GS base are set.
pub unsafe fn init_cpu() {
    // SAFETY: the entry and the selectors are what these registers want.
    unsafe {
        Msr::new(STAR).write(STAR_VALUE);
        Efer::update(|flags| flags.insert(EferFlags::SYSTEM_CALL_EXTENSIONS));
    }
    set_entry(&raw const enter::syscall_entry);
    SFMask::write(MASK);
    KernelGsBase::write(VirtAddr::zero()); // the program's, as long as the kernel runs (I-USERGS)
}

fn set_entry(entry: *const u8) {
    LStar::write(VirtAddr::from_ptr(entry))
}

/// Whether the bare pair is in place on some CPU.
static BARE: AtomicBool = AtomicBool::new(false);

/// Runs `what` while, on this CPU, `syscall` comes back at once: what the pair of instructions alone costs. For measuring: `what`
/// runs a thread that makes such calls and ends by an exception, on a goroutine that stays on this CPU.
///
/// # Panics
/// If it is in place already.
pub fn with_bare_syscall<T>(what: impl FnOnce() -> T) -> T {
    assert!(!BARE.swap(true, AcqRel), "the bare system call is in use");
    set_entry(&raw const enter::syscall_bare);
    let result = what();
    set_entry(&raw const enter::syscall_entry);
    BARE.store(false, Release);
    result
}

/// Whether on this CPU `syscall` keeps the trap flag: a step then goes through the entry itself. For tests.
pub fn step_syscalls(on: bool) {
    let mut mask = MASK;
    mask.set(RFlags::TRAP_FLAG, !on);
    SFMask::write(mask)
}
