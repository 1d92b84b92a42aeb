//! The first Rust code of the machine, and the assembly around it.

use crate::memory_map::MAX_REGIONS;
use crate::start_info::{self, Memory};
use bootloader_api::BootInfo;
use bootloader_api::info::{MemoryRegion, Optional};
use core::arch::global_asm;
use core::mem::MaybeUninit;

const BOOT_STACK_BYTES: u64 = 64 << 10;

global_asm!(include_str!("pvh.S"), boot_main = sym boot_main, BOOT_STACK_BYTES = const BOOT_STACK_BYTES);
global_asm!(include_str!("trampoline.S"), TRAMPOLINE = const crate::TRAMPOLINE);

unsafe extern "C" {
    static boot_stack: u8;
    static kernel_phys_start: u8;
    static kernel_phys_end: u8;
    #[allow(improper_ctypes)] // `BootInfo` is repr(C), but marked non-exhaustive by its crate
    fn kernel_main(info: &'static mut BootInfo) -> !;
}

/// Physical memory through the boot page tables.
struct Direct;
impl Memory for Direct {
    fn read(&self, phys: u64, into: &mut [u8]) -> bool {
        let end = phys.saturating_add(into.len() as u64);
        if end > crate::BOOT_MAPPED_BYTES {
            return false;
        }
        let from = (crate::DIRECT_BASE + phys) as *const u8;
        // SAFETY: the boot page tables map these addresses; no one else runs, so nobody writes there.
        unsafe { core::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        true
    }
}

static mut REGIONS: [MemoryRegion; MAX_REGIONS] = [MemoryRegion::empty(); MAX_REGIONS];
static mut INFO: MaybeUninit<BootInfo> = MaybeUninit::uninit();

/// Called by `pvh.S` on the boot stack, once. `start` is the physical address of `hvm_start_info`. All that the loader
/// left is copied here, before anything can overwrite it; only the boot module stays where it lies, in a region that is
/// marked as taken.
extern "C" fn boot_main(start: u64) -> ! {
    let (regions, slot) = (&raw mut REGIONS, &raw mut INFO);
    // SAFETY: this function runs once, on the only CPU, so it alone holds references to the two statics.
    let (regions, slot) = unsafe { (&mut *regions, &mut *slot) };
    let image = (
        &raw const kernel_phys_start as u64,
        &raw const kernel_phys_end as u64,
    );
    // A loader that passes nothing usable gives an empty memory map: the kernel refuses that in words, it has a console.
    let found = start_info::parse(&Direct, start, image, regions).unwrap_or_default();
    let mut info = BootInfo::new((&mut regions[..found.regions]).into());
    info.physical_memory_offset = Optional::Some(crate::DIRECT_BASE);
    info.rsdp_addr = found.rsdp.map_or(Optional::None, Optional::Some);
    if let Some((start, end)) = found.module {
        info.ramdisk_addr = Optional::Some(start);
        info.ramdisk_len = end - start;
    }
    info.kernel_addr = image.0;
    info.kernel_len = image.1 - image.0;
    info.kernel_image_offset = crate::KERNEL_BASE;
    info.kernel_stack_bottom = &raw const boot_stack as u64;
    info.kernel_stack_len = BOOT_STACK_BYTES;
    let info = slot.write(info);
    // SAFETY: the crate above defines it with exactly this signature (see the crate's documentation).
    unsafe { kernel_main(info) }
}
