//! The only code that knows the machine.
//!
//! This page is the contract: the items that the kernel above may call. Two implementations: `x86_64/`, ring 0 on the
//! bare machine (`--cfg ringo_kernel`), and `host/`, threads of the host machine, cooperative, so that everything above
//! runs under `cargo test` and at native speed. Calls the other way go through [`upcalls`].
//!
//! # Rules that the whole kernel hangs on
//!
//! * **I-COUNT** `preempt_count` is per CPU. While it is above 0 this CPU switches to no other G, so per-CPU data may be used.
//! * **I-PENDING** A device, timer or reschedule interrupt only acknowledges, sets its bit in this CPU's `pending` word,
//!   and injects a call of `safe_point` into the interrupted G if the count is 0, IF was 1 and RSP lies in the window
//!   set by [`set_window`]. It takes no lock and runs no Rust. Whoever lowers the count to 0 looks at `pending`.
//! * **I-G0** The scheduler runs on this CPU's g0 stack, entered by [`mcall`] at its top each time. A G becomes visible
//!   to other CPUs (queued, parked) only there, when nothing runs on its stack any more.
//! * **I-SWITCH** At [`mcall`] the count is exactly 1. The G that is resumed lowers it.
#![cfg_attr(ringo_kernel, no_std)]

mod context;
pub mod plain;
pub mod upcalls;

/// Portable, so its tests run on the host.
#[cfg(all(test, not(ringo_kernel)))]
#[path = "x86_64/acpi.rs"]
mod acpi;
/// As `acpi`.
#[cfg(all(test, not(ringo_kernel)))]
#[path = "x86_64/explain.rs"]
mod explain;
#[cfg(not(ringo_kernel))]
#[path = "host/mod.rs"]
mod imp;
#[cfg(ringo_kernel)]
#[path = "x86_64/mod.rs"]
mod imp;
/// As `acpi`.
#[cfg(all(test, not(ringo_kernel)))]
#[path = "x86_64/pci_scan.rs"]
mod pci_scan;

/// CPUs at most: one 64-bit mask.
pub const MAX_CPUS: usize = 64;

/// `pending` bit: the LAPIC timer fired.
pub const PENDING_TIMER: u32 = 1;
/// `pending` bit: another CPU asks this one to look at its queues or its wake word.
pub const PENDING_RESCHED: u32 = 2;
/// `pending` bit: a device raised an MSI-X interrupt.
pub const PENDING_DEVICE: u32 = 4;

/// `pending` bit: a fault point wants the running G to lose its CPU at the next safe point.
pub const PENDING_PREEMPT: u32 = 8;

/// System calls from ring 3 with numbers below this are answered on the spot, by the upcall `syscall`; all others come out of
/// `bare::UserContext::run`.
pub const QUICK_CALLS: u64 = 16;

/// Why a ring-3 thread stopped: what `bare::UserContext::run` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserExit {
    /// A system call that is not a quick one.
    Syscall,
    /// An exception.
    Exception {
        /// SDM vol. 3, table 6-1.
        vector: u8,
        /// As the CPU pushed it, else 0.
        error_code: u64,
        /// What a page fault was about (CR2), else 0.
        address: u64,
    },
    /// The stop word was set.
    Stopped,
}

/// How the machine is left. The value goes to the `isa-debug-exit` device; QEMU's status is twice that plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// The program ended well.
    Success = 0x10,
    /// The program returned an error or called `exit(n)`, n ≠ 0; n was sent over the control channel.
    ProgramFailed = 0x11,
    /// Panic, deadlock, stack overflow, exception.
    Fatal = 0x12,
    /// The same while reporting one.
    FatalTwice = 0x13,
    /// The machine found itself hung.
    Watchdog = 0x14,
    /// The configuration was refused.
    BadConfig = 0x15,
}

// ---- who am I: right only while this CPU cannot change under the caller (I-COUNT), but each is one load ----
pub use imp::{cpu_id, curg, m_ptr, set_curg, set_m_ptr};
// ---- preemption: count, pending work, the stack window in which a call may be injected ----
pub use imp::{
    pending, preempt_count, preempt_disable, preempt_enable, raise_pending, set_window,
    take_pending,
};
// ---- interrupts of this CPU ----
pub use imp::{irq_disable, irq_enable, irq_restore, irq_save, irqs_enabled};
// ---- stacks and switches ----
pub use context::Context;
pub use imp::{leave_g0, mcall, new_context, on_g0, start_g0};
// ---- time ----
pub use imp::{arm_timer, clock_source, disarm_timer, now_ns, spin_wait_ns};
// ---- chance ----
pub use imp::entropy;
// ---- idle and waking ----
pub use imp::{CpuRef, cpu_ref, halt, wake_cpu};
// ---- other CPUs ----
pub use imp::{num_cpus, start_cpus, stop_other_cpus};
// ---- console (both ways), control channel, the end ----
pub use imp::{console_read, console_write, control_write, exit, panic_console_write};

/// What only the bare machine has: boot steps, page tables, the stack region, figures of the injected call.
#[cfg(ringo_kernel)]
pub use imp::bare;
/// What only the host has: stack mappings, standard arguments, ends of the process.
#[cfg(not(ringo_kernel))]
pub use imp::hosted;

/// Return address and frame pointer of the function that called [`mcall`] to stop here: where a parked G's backtrace
/// begins. Both machines lay the same frame.
///
/// # Safety
/// The context was saved, and its G stays stopped during the call.
pub unsafe fn saved_frame(stopped: &Context) -> (usize, usize) {
    // SAFETY: a saved stack pointer points at r15 r14 r13 r12 rbp rbx and the return address (switch.rs).
    unsafe {
        let sp = stopped.get() as *const usize;
        (*sp.add(6), *sp.add(4))
    }
}
