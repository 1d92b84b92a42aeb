//! The machine as threads of the host: the same contract as the bare machine, cooperative.
//!
//! A CPU is a thread. Nothing is injected: a G gives up the thread at a switch, or where the drop of its last guard
//! finds `pending` set. Several machines may live in one process, one after another and at the same time, so nothing here is
//! global but the blocks of threads that ended (kept, since a [`CpuRef`] may outlive its thread), the mapped stacks,
//! and the signal handlers.
//!
//! # Thread-locals and stacks that migrate
//!
//! LLVM takes the address of a thread-local for a constant of the function. A function that reads one, switches, and
//! comes back on another thread would go on with the first thread's block. So the only read is in `cpu::this`, never
//! inlined, behind an assembly statement that LLVM cannot merge with another, and nobody holds what it returns over a
//! switch.

mod console;
mod cpu;
mod entropy;
mod fault;
pub mod hosted;
#[cfg(ringo_shuttle)]
mod model;
#[cfg(not(ringo_shuttle))]
mod park;
mod preempt;
mod smp;
mod stacks;
mod switch;
#[cfg(all(test, not(any(ringo_loom, ringo_shuttle))))]
mod tests;
#[cfg_attr(ringo_shuttle, allow(dead_code))]
mod time;

pub use console::{console_read, console_write, control_write, exit, panic_console_write};
pub use cpu::{cpu_id, curg, m_ptr, num_cpus, set_curg, set_m_ptr};
pub use entropy::entropy;
#[cfg(ringo_shuttle)]
use model as park;
pub use park::{CpuRef, arm_timer, cpu_ref, disarm_timer, halt, wake_cpu};
pub use preempt::{
    irq_disable, irq_enable, irq_restore, irq_save, irqs_enabled, pending, preempt_count,
    preempt_disable, preempt_enable, raise_pending, set_window, take_pending,
};
pub use smp::{start_cpus, stop_other_cpus};
pub use switch::{leave_g0, mcall, new_context, on_g0, start_g0};
pub use time::{clock_source, now_ns, spin_wait_ns};
