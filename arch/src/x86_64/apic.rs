//! The local APIC in xAPIC mode: registers in memory. QEMU's TCG has no x2APIC before 9.0, so this is the only mode here.
//! SDM vol. 3, chapter 11.

use super::bare::DIRECT_BASE;
use super::percpu::this;
use super::trap::{VECTOR_RESCHED, VECTOR_SPURIOUS};
use core::arch::asm;
use core::sync::atomic::Ordering::Relaxed;
use x86_64::registers::model_specific::{ApicBase, ApicBaseFlags};

/// Where the registers lie after reset, on every machine that this kernel meets.
const REGISTERS: u64 = 0xfee0_0000;

const TASK_PRIORITY: usize = 0x80;
const SPURIOUS: usize = 0xf0;
const ICR_LOW: usize = 0x300;
const ICR_HIGH: usize = 0x310;
const LVT_LINT0: usize = 0x350;
const LVT_ERROR: usize = 0x370;
/// Local vector table entry of the timer.
pub const LVT_TIMER: usize = 0x320;
/// Writing it starts the timer, 0 stops it.
pub const TIMER_INITIAL: usize = 0x380;
/// Counts down.
pub const TIMER_CURRENT: usize = 0x390;
/// Divider of the timer's clock.
pub const TIMER_DIVIDE: usize = 0x3e0;

const ICR_BUSY: u32 = 1 << 12;
const ICR_ASSERT: u32 = 1 << 14;
const MASKED: u32 = 1 << 16;

/// Reads a register of the calling CPU's APIC.
#[inline(always)]
pub fn read(register: usize) -> u32 {
    // SAFETY: the registers are mapped there, uncached; all that are named here may be read.
    unsafe {
        ((DIRECT_BASE + REGISTERS) as *const u32)
            .byte_add(register)
            .read_volatile()
    }
}

/// Writes a register of the calling CPU's APIC.
#[inline(always)]
pub fn write(register: usize, value: u32) {
    // SAFETY: as for `read`; callers in this module tree write values that the SDM allows.
    unsafe {
        ((DIRECT_BASE + REGISTERS) as *mut u32)
            .byte_add(register)
            .write_volatile(value)
    };
}

/// Tells the interrupt stubs of this CPU where to acknowledge.
pub fn attach() {
    this()
        .lapic
        .store((DIRECT_BASE + REGISTERS) as usize, Relaxed);
}

/// The calling CPU's APIC id, from CPUID: right in every mode.
pub fn id() -> u32 {
    // Leaf 1 exists on every 64-bit CPU.
    core::arch::x86_64::__cpuid(1).ebx >> 24
}

/// Switches the calling CPU's APIC on: xAPIC mode, all priorities, legacy lines and the error interrupt masked.
///
/// # Safety
/// Interrupts off; the registers are mapped.
pub unsafe fn enable() {
    let (frame, flags) = ApicBase::read();
    // SAFETY: leaving x2APIC goes through "disabled" (SDM 11.12.5); the base address is kept.
    unsafe {
        if flags.contains(ApicBaseFlags::X2APIC_ENABLE) {
            ApicBase::write(
                frame,
                flags - ApicBaseFlags::X2APIC_ENABLE - ApicBaseFlags::LAPIC_ENABLE,
            );
        }
        ApicBase::write(
            frame,
            (flags - ApicBaseFlags::X2APIC_ENABLE) | ApicBaseFlags::LAPIC_ENABLE,
        );
    }
    write(SPURIOUS, 0x100 | VECTOR_SPURIOUS as u32);
    write(TASK_PRIORITY, 0);
    write(LVT_LINT0, MASKED);
    write(LVT_ERROR, MASKED);
    super::timer::init_cpu();
}

/// Sends an interrupt command. Two register writes, which an interrupt's own IPI must not come between.
fn command(apic_id: u32, low: u32) {
    let was = super::irq::irqs_enabled();
    super::irq::irq_disable();
    while read(ICR_LOW) & ICR_BUSY != 0 {
        core::hint::spin_loop();
    }
    write(ICR_HIGH, apic_id << 24);
    write(ICR_LOW, low);
    if was {
        // SAFETY: as it was before. Not `irq_enable`: nothing can have been put off since, the count did not change.
        unsafe { asm!("sti", options(nostack)) };
    }
}

/// Reschedule IPI.
pub fn send_resched(apic_id: u32) {
    command(apic_id, ICR_ASSERT | VECTOR_RESCHED as u32);
}
/// On any vector.
pub fn send_vector(apic_id: u32, vector: u8) {
    command(apic_id, ICR_ASSERT | u32::from(vector));
}
/// Non-maskable interrupt.
pub fn send_nmi(apic_id: u32) {
    command(apic_id, ICR_ASSERT | 4 << 8);
}
/// INIT: the CPU goes back to its wait-for-SIPI state.
pub fn send_init(apic_id: u32) {
    command(apic_id, ICR_ASSERT | 5 << 8);
}
/// Start-up IPI: a CPU that waits for one starts in real mode at `page` (physical, below 1 MiB).
pub fn send_sipi(apic_id: u32, page: u64) {
    command(apic_id, ICR_ASSERT | 6 << 8 | (page >> 12) as u32);
}

/// Address and data with which a device interrupts CPU `cpu` by a message (MSI; SDM vol. 3, 11.11): fixed, edge-triggered.
///
/// # Panics
/// If there is no such CPU.
pub fn msi_message(cpu: usize, vector: u8) -> (u64, u32) {
    assert!(cpu < super::smp::num_cpus(), "no CPU {cpu}");
    let apic_id = super::percpu::cpu(cpu).apic_id.load(Relaxed);
    (0xfee0_0000 | u64::from(apic_id) << 12, vector.into())
}

#[derive(Clone, Copy, Debug)]
/// Names a CPU to [`wake_cpu`].
pub struct CpuRef {
    apic_id: u32,
}

/// The calling CPU, for others to wake it. `preempt_count` above 0.
pub fn cpu_ref() -> CpuRef {
    CpuRef {
        apic_id: this().apic_id.load(Relaxed),
    }
}

/// Interrupts that CPU: if it halts it goes on, and its `pending` word has `PENDING_RESCHED`.
pub fn wake_cpu(cpu: CpuRef) {
    send_resched(cpu.apic_id);
}
