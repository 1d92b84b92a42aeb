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

/// Takes all pages of a slot but the topmost out of it, and hands their frames over. `address`: any in the slot. Flushes
/// nothing.
///
/// # Safety
/// Nobody uses what is on these pages, and nobody runs on the slot meanwhile. No CPU runs on it again before it has flushed
/// its TLB ([`flush_tlb`]), and no frame is used again before all CPUs have.
///
/// # Panics
/// If the address lies in no slot.
pub unsafe fn stack_slot_trim(address: u64, take: &mut dyn FnMut(u64)) {
    assert!(
        super::stackfault::in_window(address),
        "stack_slot_trim: {address:#x} is in no stack slot"
    );
    let mask = SLOT_MASK.load(Relaxed);
    // SAFETY: the tables of a slot exist, so no frame is asked for.
    let Ok(first) = (unsafe { paging::stack_entry(address & !mask, &mut || None) }) else {
        return;
    };
    for page in 0..(mask >> 12) as usize {
        // SAFETY: a slot lies in one page table, and its entries are changed by its owner alone.
        unsafe {
            let entry = first.add(page).read_volatile();
            if entry & paging::P != 0 {
                first.add(page).write_volatile(0);
                take(entry & !paging::NX & !0xfff);
            }
        }
    }
}

/// Makes this CPU forget all that it remembers of page tables.
pub fn flush_tlb() {
    // No page is global.
    x86_64::instructions::tlb::flush_all();
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
