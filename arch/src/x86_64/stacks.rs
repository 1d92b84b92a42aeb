//! Slots of the stack window: creation, and the page reserve that the fault path (stackfault.rs) takes from.

use super::bare::{FrameSource, STACK_BASE};
use super::paging::{self, NoFrames};
use super::percpu::{RESERVE_MAX, this};
use super::stackfault::{SLOT_MASK, STACK_END};
use core::sync::atomic::Ordering::*;

/// Bytes of the stack window.
const WINDOW_BYTES: u64 = 512 << 30;

/// Sets the size of all slots.
///
/// # Safety
/// Once, before the first [`stack_slot_create`].
///
/// # Panics
/// Unless `bytes` is a power of two from 16 KiB to 1 MiB.
pub unsafe fn set_stack_slot_bytes(bytes: usize) {
    assert!(
        bytes.is_power_of_two() && (16 << 10..=1 << 20).contains(&bytes),
        "a stack slot has 16 KiB to 1 MiB, a power of two; not {bytes} bytes"
    );
    SLOT_MASK.store(bytes as u64 - 1, Relaxed);
}

/// Creates slot number `slot`: afterwards its page tables exist and its topmost page is backed by `top_page_frame`.
///
/// # Errors
/// [`NoFrames`]: a page table was missing and no frame was left. The slot does not exist then and may be tried again.
///
/// # Safety
/// Slots are created in ascending order from 0, by one caller at a time; the frame is nobody else's.
///
/// # Panics
/// If the window (512 GiB) is full.
pub unsafe fn stack_slot_create(
    slot: usize,
    top_page_frame: u64,
    frames: FrameSource,
) -> Result<(), NoFrames> {
    let bytes = SLOT_MASK.load(Relaxed) + 1;
    let end = (slot as u64 + 1) * bytes;
    assert!(
        end <= WINDOW_BYTES,
        "stack slot {slot} of {bytes} bytes lies beyond the 512 GiB window"
    );
    // A slot never straddles two page tables: its size divides 2 MiB.
    // SAFETY: inside the stack window.
    let top = unsafe { paging::stack_entry(STACK_BASE + end - 4096, frames)? };
    // SAFETY: a live entry that nobody uses before the store below.
    unsafe { top.write_volatile(top_page_frame | paging::DATA) };
    STACK_END.store(end, Release); // the fault path of a CPU that runs on this slot got it through a lock after this
    Ok(())
}

/// Takes the frame behind `page` (an address in the stack window) out of its slot; None if none was there. Flushes the
/// entry on this CPU only.
///
/// # Safety
/// Nobody uses what is on the page, and every other CPU on which the slot's G ran flushes its TLB before anything runs on
/// this slot again.
pub unsafe fn stack_page_take(page: u64) -> Option<u64> {
    assert!(
        super::stackfault::in_window(page),
        "stack_page_take: {page:#x} is in no stack slot"
    );
    // SAFETY: the tables of a slot exist, so no frame is asked for.
    let slot = unsafe { paging::stack_entry(page, &mut || None) }.ok()?;
    // SAFETY: entries of a slot are changed by its owner alone.
    let entry = unsafe { slot.read_volatile() };
    if entry & paging::P == 0 {
        return None;
    }
    // SAFETY: as above.
    unsafe { slot.write_volatile(0) };
    x86_64::instructions::tlb::flush(x86_64::VirtAddr::new(page));
    Some(entry & !paging::NX & !0xfff)
}

/// Frames in this CPU's reserve.
pub fn reserve_len() -> usize {
    this().reserve_n.load(Relaxed)
}

/// Adds a frame to this CPU's reserve; the fault path takes from it.
///
/// # Safety
/// On g0 (a G's own stack could fault in the middle and lose a frame), `preempt_count` above 0; the frame is nobody else's.
///
/// # Panics
/// If the reserve holds [`RESERVE_MAX`] frames.
pub unsafe fn reserve_push(frame: u64) {
    let c = this();
    let n = c.reserve_n.load(Relaxed);
    assert!(n < RESERVE_MAX, "the page reserve of this CPU is full");
    c.reserve[n].store(frame | paging::DATA, Relaxed);
    c.reserve_n.store(n + 1, Relaxed);
}
