//! What leaves the heap's window: pages that are taken out of it, and the words that the heap keeps where none are.

use super::bare::{FrameSource, HEAP_BASE};
use super::paging::{self, ADDRESS, KERNEL_CR3, NoFrames, P, TABLES};
use core::sync::atomic::Ordering::Acquire;

/// An entry that is not present is free but for its lowest bit.
const NOTE_SHIFT: u32 = 1;

/// Calls `f` with the level 1 entry for `virt`, under the tables' lock.
fn with_entry<R>(
    virt: u64,
    frames: FrameSource,
    f: impl FnOnce(*mut u64) -> R,
) -> Result<R, NoFrames> {
    assert!(
        (HEAP_BASE..HEAP_BASE + (512 << 30)).contains(&virt),
        "{virt:#x} is outside the heap window"
    );
    TABLES.with(|()| {
        // SAFETY: under the lock; the window is ours.
        let entry = unsafe { paging::entry(KERNEL_CR3.load(Acquire), virt, 1, frames)? };
        Ok(f(entry))
    })
}

/// Takes the page at `virt` out, if one is mapped there: its frame. Flushes nothing.
///
/// # Safety
/// Nobody uses the page any more. Neither its frame nor its address is used again before all CPUs have flushed their TLBs.
///
/// # Panics
/// Outside the heap window.
pub unsafe fn unmap_page(virt: u64) -> Option<u64> {
    let unmap = |entry: *mut u64| {
        // SAFETY: a live entry, under the lock.
        let old = unsafe { entry.read_volatile() };
        if old & P == 0 {
            return None;
        }
        // SAFETY: likewise.
        unsafe { entry.write_volatile(0) };
        Some(old & ADDRESS)
    };
    // Where the table is missing nothing is mapped.
    with_entry(virt, &mut || None, unmap).ok().flatten()
}

/// A number below 2^62 that is kept where no page is mapped; 0 if none was set, or there is no table.
///
/// # Panics
/// Outside the heap window, or if a page is mapped there.
pub fn page_note(virt: u64) -> u64 {
    let read = |entry: *mut u64| {
        // SAFETY: a live entry, under the lock.
        let entry = unsafe { entry.read_volatile() };
        assert!(entry & P == 0, "a page is mapped at {virt:#x}, no note");
        entry >> NOTE_SHIFT
    };
    with_entry(virt, &mut || None, read).unwrap_or(0)
}

/// Sets what [`page_note`] returns. A page can be mapped where it is 0.
///
/// # Errors
/// [`NoFrames`]: a table was missing and no frame was left.
///
/// # Panics
/// As [`page_note`].
pub fn set_page_note(virt: u64, note: u64, frames: FrameSource) -> Result<(), NoFrames> {
    with_entry(virt, frames, |entry| {
        // SAFETY: a live entry, under the lock, that the CPU ignores: it is not present before and after.
        unsafe {
            assert!(
                entry.read_volatile() & P == 0,
                "a page is mapped at {virt:#x}, no note"
            );
            entry.write_volatile(note << NOTE_SHIFT)
        }
    })
}
