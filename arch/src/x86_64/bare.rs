//! What only the bare machine has: boot steps, page tables, the stack window, counters.

use super::{apic, features, fence, gdt, irq, kstack, percpu, serial, trap};
use core::sync::atomic::Ordering::Relaxed;
use x86_64::instructions::port::PortWriteOnly;

pub use super::apic::msi_message;
pub use super::fence::fence_devices;
pub use super::heap_window::{page_note, set_page_note, unmap_page};
pub use super::paging::{
    NoFrames, PageFlags, direct, init_paging, kernel_image_phys, map_pages, readable,
};
pub use super::pci::{
    ConfigRegionAccess, PciAddress, PciBars, PciError, PciFunction, PciSpace, map_registers,
};
pub use super::percpu::RESERVE_MAX;
pub use super::platform::init_platform;
pub use super::preempt::interrupted_rip;
#[cfg(feature = "injection")]
pub use super::preempt::planted_bug;
pub use super::smp::bring_up_cpus;
pub use super::stacks::{
    flush_tlb, reserve_len, reserve_push, set_stack_slot_bytes, set_stack_slot_note,
    stack_slot_create, stack_slot_note, stack_slot_trim,
};
pub use super::step::{
    TRAP_FLAG, step_all, step_at, step_interrupts, step_off, step_on, stepped, steps,
};
pub use super::switch_cost::{Saves, switch_back_and_forth};
pub use super::trap::{VECTOR_DEVICE_FIRST, VECTOR_DEVICE_LAST, triple_fault};
pub use super::user::{
    Access, Space, USER_BASE, USER_END, UserContext, step_syscalls, with_bare_syscall,
};

/// Physical memory: RAM and the first 4 GiB.
pub const DIRECT_BASE: u64 = 0xffff_8000_0000_0000;
/// Window of 512 GiB for `map_pages`.
pub const HEAP_BASE: u64 = 0xffff_c000_0000_0000;
/// Window of 512 GiB for the stack slots of Gs.
pub const STACK_BASE: u64 = 0xffff_d000_0000_0000;
/// Window for g0 and interrupt stacks.
pub const KSTACK_BASE: u64 = 0xffff_e000_0000_0000;
/// The kernel image: its physical address plus this.
pub const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;

/// Gives the physical address of a free 4 KiB frame of undefined content, or None if there is none.
pub type FrameSource<'a> = &'a mut dyn FnMut() -> Option<u64>;

/// What `init_platform` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// CPUs that can be started, the first one included.
    pub cpus: usize,
    /// Enabled CPUs beyond the 64 that this kernel can run.
    pub too_many: usize,
    /// Speed of the time stamp counter.
    pub tsc_hz: u64,
    /// Speed of the local APIC's timer.
    pub apic_timer_hz: u64,
}

/// First thing that `kernel_main` calls: per-CPU block, GDT, TSS and IDT of the first CPU, legacy interrupt controllers
/// masked, console usable. Afterwards IF=0 and `preempt_count` is 1, until the first G lowers it.
///
/// # Safety
/// Once, on the first CPU, with the boot page tables, nothing else having run.
pub unsafe fn init_bsp() {
    // SAFETY: as documented; in this order, since loading GS's selector clears its base.
    unsafe {
        gdt::load(0);
        percpu::attach(0, apic::id());
        apic::attach();
        kstack::use_early_stacks();
        trap::build_idt();
        trap::load_idt();
        // Some firmware leaves the PICs unmasked at vector 8, where the timer looks like a double fault.
        PortWriteOnly::<u8>::new(0x21).write(0xff);
        PortWriteOnly::<u8>::new(0xa1).write(0xff);
        features::enable();
        super::user::init_cpu();
    }
    debug_assert!(!irq::irqs_enabled());
    fence::init_fences();
    serial::init();
}

/// Where the runner finds page tables and per-CPU blocks, from outside.
#[derive(Clone, Copy, Debug)]
pub struct Glass {
    /// Physical address of the kernel's page tables.
    pub cr3: u64,
    /// Address of the first per-CPU block.
    pub blocks: u64,
    /// From one to the next, bytes.
    pub stride: u64,
    /// In a block: the `pending` word, 4 bytes.
    pub pending: u64,
    /// In a block: the preemption count, 4 bytes.
    pub count: u64,
    /// In a block: interrupts taken, 8 bytes.
    pub interrupts: u64,
}

/// See [`Glass`]. Good after [`init_paging`].
pub fn glass() -> Glass {
    let (pending, count, interrupts) = percpu::glass_offsets();
    Glass {
        cr3: super::paging::KERNEL_CR3.load(Relaxed),
        blocks: (&raw const percpu::RINGO_CPUS).addr() as u64,
        stride: size_of::<percpu::Cpu>() as u64,
        pending,
        count,
        interrupts,
    }
}

/// Counters of one CPU since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BareStats {
    /// Interrupts of timer, other CPUs, devices, and stray ones.
    pub interrupts: u64,
    /// Of these, on vectors that nobody uses.
    pub unexpected: u64,
    /// Calls injected into an interrupted G.
    pub injected: u64,
    /// Calls of the upcall `safe_point`: the injected ones, their repetitions, and those by guard drop.
    pub safe_points: u64,
    /// Of these, by the drop of the last guard.
    pub safe_points_by_guard: u64,
    /// Page faults that backed a page of a G's stack.
    pub page_faults: u64,
    /// Of these, inside the interrupt handler, by its write of an injected frame.
    pub page_faults_nested: u64,
    /// Of these, on page 1 of a slot, which is kept for injected frames.
    pub page_faults_low: u64,
}

/// Interrupts CPU `cpu` on `vector`, as a device does with the message of [`msi_message`]: for devices made by hand.
///
/// # Panics
/// If the vector is none of a device's.
pub fn device_interrupt(cpu: usize, vector: u8) {
    assert!(
        (VECTOR_DEVICE_FIRST..=VECTOR_DEVICE_LAST).contains(&vector),
        "vector {vector} is no device's"
    );
    apic::send_vector(percpu::cpu(cpu).apic_id.load(Relaxed), vector)
}

/// Where all statics that can be written lie.
pub fn statics() -> core::ops::Range<usize> {
    unsafe extern "C" {
        /// From `kernel.ld`.
        static kernel_rodata_end: u8;
        static kernel_end: u8;
    }
    &raw const kernel_rodata_end as usize..&raw const kernel_end as usize
}

/// Where the per-CPU blocks lie.
pub fn cpu_blocks() -> core::ops::Range<usize> {
    let start = &raw const percpu::RINGO_CPUS as usize;
    start..start + size_of_val(&percpu::RINGO_CPUS)
}

/// Depth of preemption-off sections of CPU `cpu` at some instant.
pub fn preempt_count_of(cpu: usize) -> u32 {
    percpu::cpu(cpu).count.load(Relaxed)
}

/// Counters of CPU `cpu`. Each is read at another moment.
pub fn bare_stats(cpu: usize) -> BareStats {
    let c = percpu::cpu(cpu);
    BareStats {
        interrupts: c.n_interrupts.load(Relaxed),
        unexpected: c.n_unexpected.load(Relaxed),
        injected: c.n_injected.load(Relaxed),
        safe_points: c.n_safe_points.load(Relaxed),
        safe_points_by_guard: c.n_safe_points_by_guard.load(Relaxed),
        page_faults: c.n_page_faults.load(Relaxed),
        page_faults_nested: c.n_page_faults_nested.load(Relaxed),
        page_faults_low: c.n_page_faults_low.load(Relaxed),
    }
}
