//! Ring 0 of an x86-64 machine with a PC's interrupt controllers. One file a mechanism:
//!
//! | file | what |
//! |---|---|
//! | `percpu` | the block behind GS |
//! | `switch` | `mcall`, `start_g0`, `on_g0`: stack switches |
//! | `switch_cost` | what a switch costs by what it saves |
//! | `preempt` | the preemption count and **the injected call** |
//! | `trap`, `explain` | the interrupt table, exception reports |
//! | `stackfault`, `stacks` | lazily backed G stacks |
//! | `nmi` | stopping the other CPUs at the end |
//! | `gdt`, `kstack`, `features` | segments and TSS, the CPU's own stacks, protections |
//! | `paging` | page tables |
//! | `apic`, `timer`, `tsc`, `calibrate` | local APIC and IPIs, one-shot timer, clock |
//! | `entropy` | chance |
//! | `acpi`, `platform`, `smp` | which CPUs and clocks there are, starting the CPUs |
//! | `pci`, `pci_scan` | configuration space, registers of devices |
//! | `user` | **ring 3**: in and out, address spaces |
//! | `irq`, `lock` | the interrupt flag, a spin lock for devices |
//! | `serial`, `control`, `exit` | console, control channel, end |
//! | `mem.S` | memcpy and friends |

pub mod bare;

mod acpi;
mod apic;
mod calibrate;
mod control;
mod entropy;
mod exit;
mod explain;
mod features;
mod fence;
mod gdt;
mod heap_window;
mod irq;
mod kstack;
mod lock;
mod nmi;
mod paging;
mod pci;
mod pci_scan;
mod percpu;
mod platform;
mod preempt;
mod serial;
mod smp;
mod stackfault;
mod stacks;
mod step;
mod switch;
mod switch_cost;
mod timer;
mod trap;
mod tsc;
mod user;

core::arch::global_asm!(include_str!("mem.S"));

pub use apic::{CpuRef, cpu_ref, wake_cpu};
pub use control::control_write;
pub use entropy::entropy;
pub use exit::exit;
pub use irq::{halt, irq_disable, irq_enable, irq_restore, irq_save, irqs_enabled};
pub use nmi::stop_other_cpus;
pub use percpu::{cpu_id, curg, m_ptr, set_curg, set_m_ptr};
pub use preempt::{
    pending, preempt_count, preempt_disable, preempt_enable, raise_pending, set_window,
    take_pending,
};
pub use serial::{console_read, console_write, panic_console_write};
pub use smp::{num_cpus, start_cpus};
pub use switch::{leave_g0, mcall, new_context, on_g0, start_g0};
pub use timer::{arm_timer, disarm_timer};
pub use tsc::{clock_source, now_ns, spin_wait_ns};
