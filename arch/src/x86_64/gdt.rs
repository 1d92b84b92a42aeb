//! Segments and the task state segment, one of each per CPU. In 64-bit mode they say only two things: the privilege level
//! and, by the TSS, on which stack each interrupt vector starts.

use super::trap::Ist;
use crate::MAX_CPUS;
use core::ptr::addr_of;
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, DS, ES, FS, GS, SS, Segment};
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable};
use x86_64::structures::tss::TaskStateSegment;

type Gdt = GlobalDescriptorTable<8>;
static mut GDTS: [Gdt; MAX_CPUS] = [const { Gdt::empty() }; MAX_CPUS];
static mut TSSS: [TaskStateSegment; MAX_CPUS] = [const { TaskStateSegment::new() }; MAX_CPUS];

/// Loads GDT, segment registers and TSS on the calling CPU. Order: 0x08 kernel code (the IDT and the trampoline rely on
/// it), 0x10 kernel data, 0x18 user data, 0x20 user code (the order that `sysret` wants), 0x28 TSS. FS and GS become 0, so
/// GS base has to be set after this.
///
/// # Safety
/// Once per CPU, interrupts off; `cpu` is the caller's own number.
pub unsafe fn load(cpu: usize) {
    let gdts = &raw mut GDTS;
    // SAFETY: each CPU touches its own element only, once.
    let gdt = unsafe { &mut (*gdts)[cpu] };
    *gdt = Gdt::empty(); // a CPU that was sent back to INIT comes twice
    let code = gdt.append(Descriptor::kernel_code_segment());
    let data = gdt.append(Descriptor::kernel_data_segment());
    gdt.append(Descriptor::user_data_segment());
    gdt.append(Descriptor::user_code_segment());
    // SAFETY: the TSS is static; only this CPU changes it, in `set_ist`.
    let tss = gdt.append(unsafe { Descriptor::tss_segment_unchecked(addr_of!(TSSS[cpu])) });
    // SAFETY: the table is static and keeps the selectors that are loaded here.
    unsafe {
        gdt.load_unsafe();
        CS::set_reg(code);
        SS::set_reg(data);
        DS::set_reg(data);
        ES::set_reg(data);
        let null = x86_64::structures::gdt::SegmentSelector::NULL;
        FS::set_reg(null);
        GS::set_reg(null);
        x86_64::instructions::tables::load_tss(tss);
    }
}

/// Sets the stack on which the vectors of slot `ist` start on `cpu`.
///
/// # Safety
/// `top` is the upper end of a mapped stack that nobody else uses; the CPU is the caller or does not run yet.
pub unsafe fn set_ist(cpu: usize, ist: Ist, top: u64) {
    let tsss = &raw mut TSSS;
    // SAFETY: see above; the CPU reads its TSS only when it takes an interrupt on that slot.
    unsafe { (*tsss)[cpu].interrupt_stack_table[ist as usize - 1] = VirtAddr::new(top) };
}
