//! From the firmware to the kernel.
//!
//! Takes the machine from a PVH loader (`pvh.S`), turns what the loader says into a [`bootloader_api::BootInfo`]
//! ([`start_info`]) and calls
//!
//! ```text
//! extern "C" fn kernel_main(info: &'static mut BootInfo) -> !
//! ```
//!
//! which the crate above provides. Also holds the code that the other CPUs wake up in (`trampoline.S`) and the linker
//! script. Knows nobody but `bootloader_api`; the machine layer finds the trampoline through linker symbols.
//!
//! When `kernel_main` runs: 64-bit mode, interrupts off, no IDT yet, SSE usable, the stack `boot_stack` (64 KiB),
//! 4 GiB of physical memory at [`DIRECT_BASE`], the kernel image at [`KERNEL_BASE`].
#![cfg_attr(ringo_kernel, no_std)]

pub mod memory_map;
pub mod start_info;

#[cfg(ringo_kernel)]
mod entry;

/// Virtual address at which physical address 0 is mapped (`BootInfo::physical_memory_offset`).
pub const DIRECT_BASE: u64 = 0xffff_8000_0000_0000;
/// Virtual address of physical address 0 as the kernel image is linked: 2 GiB below the top (`KBASE` in kernel.ld).
pub const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;
/// Bytes from physical address 0 that [`DIRECT_BASE`] reaches before the kernel has built its own page tables.
pub const BOOT_MAPPED_BYTES: u64 = 4 << 30;
/// Physical page in which other CPUs start. Below 1 MiB, as SIPI wants; [`memory_map`] never reports it as usable.
pub const TRAMPOLINE: u64 = 0x8000;
