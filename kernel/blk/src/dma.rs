//! Memory that the device sees: what `virtio-drivers` asks of a machine.

use arch::bare;
use core::ptr::NonNull;
use mem::{PAGE_BYTES, frames};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

/// This machine. Devices see physical memory as it is.
pub struct Dma;

// SAFETY: frames are page-aligned, nobody else's until they are freed, and zeroed here; the direct map has all of them.
// Registers are mapped for good.
unsafe impl Hal for Dma {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let row = frames::alloc_zeroed_row(pages as u64);
        let row = row.and_then(|(phys, at)| Some((phys, NonNull::new(at)?)));
        row.unwrap_or((0, NonNull::dangling())) // how the trait says that there is none
    }

    unsafe fn dma_dealloc(phys: PhysAddr, _: NonNull<u8>, pages: usize) -> i32 {
        for page in 0..pages as u64 {
            // SAFETY: these frames are from `dma_alloc`, says the caller, and only the direct map has them.
            unsafe { frames::free(phys + page * PAGE_BYTES as u64) };
        }
        0
    }

    unsafe fn mmio_phys_to_virt(phys: PhysAddr, bytes: usize) -> NonNull<u8> {
        // SAFETY: registers of the caller's device.
        let at = unsafe { bare::map_registers(phys, bytes, &mut frames::alloc) };
        at.ok()
            .and_then(NonNull::new)
            .expect("out of memory: page tables for the registers of a disk")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        let at = buffer.cast::<u8>().as_ptr() as u64;
        assert!(
            (bare::DIRECT_BASE..bare::HEAP_BASE).contains(&at),
            "a disk is given memory at {at:#x}, which is not in a row"
        );
        at - bare::DIRECT_BASE
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
