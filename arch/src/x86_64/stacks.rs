//! Slots of the stack window: creation, and the page reserve that the fault path (stackfault.rs) takes from.

use super::bare::{FrameSource, STACK_BASE};
use super::paging::{self, NoFrames};
use super::percpu::{RESERVE_MAX, this};
use super::stackfault::{SLOT_MASK, STACK_END, STACK_PDPT};
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

/// Creates slot number `slot`, or one again whose pages were all taken: afterwards its page tables exist and its topmost page
/// is backed by `top_page_frame`. A new slot has note 1, see [`stack_slot_note`].
///
/// # Errors
/// [`NoFrames`]: a page table was missing and no frame was left. The slot does not exist then and may be tried again.
///
/// # Safety
/// New slots are created in ascending order from 0, by one caller at a time; the frame is nobody else's, and no TLB remembers
/// the slot's pages.
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
    if STACK_END.load(Relaxed) < end {
        // SAFETY: the entry of the guard, in the same table; nobody knows the slot yet.
        unsafe {
            top.sub((bytes >> 12) as usize - 1)
                .write_volatile(1 << NOTE_SHIFT)
        };
    }
    // SAFETY: a live entry that nobody uses before the store below.
    unsafe { top.write_volatile(top_page_frame | paging::DATA) };
    STACK_END.fetch_max(end, Release); // the fault path of a CPU that runs on this slot got it through a lock after this
    Ok(())
}

/// The guard page's entry is never present, so the other bits are free.
const NOTE_SHIFT: u32 = 1;

/// The level 1 entries of a slot that exists. Takes no lock: tables stay where they are.
fn entries(slot: usize) -> *mut u64 {
    let offset = slot as u64 * (SLOT_MASK.load(Relaxed) + 1);
    let mut table = STACK_PDPT.load(Relaxed) as *mut u64;
    for shift in [30, 21] {
        // SAFETY: the tables of a slot exist from its creation.
        let entry = unsafe { table.add((offset >> shift) as usize & 511).read_volatile() };
        table = paging::direct(entry & !paging::NX & !0xfff).cast();
    }
    table.wrapping_add((offset >> 12) as usize & 511)
}

/// A number below 2^62 that the kernel keeps with a slot. Takes no lock.
///
/// # Panics
/// If there is no such slot.
pub fn stack_slot_note(slot: usize) -> u64 {
    check_exists(slot);
    // SAFETY: a live entry.
    unsafe { entries(slot).read_volatile() >> NOTE_SHIFT }
}

/// Sets what [`stack_slot_note`] returns. Everything written before is seen by who sees the note.
///
/// # Panics
/// If there is no such slot.
pub fn set_stack_slot_note(slot: usize, note: u64) {
    check_exists(slot);
    core::sync::atomic::fence(Release);
    // SAFETY: a live entry that the CPU ignores, since it is not present.
    unsafe { entries(slot).write_volatile(note << NOTE_SHIFT) };
}

fn check_exists(slot: usize) {
    assert!(
        (slot as u64 + 1) * (SLOT_MASK.load(Relaxed) + 1) <= STACK_END.load(Acquire),
        "there is no stack slot {slot}"
    );
}

/// Takes the pages of a slot out of it, with or without the topmost, and hands their frames over. Flushes nothing.
///
/// # Safety
/// Nobody uses what is on these pages, and nobody runs on the slot meanwhile. No CPU runs on it again before it has flushed
/// its TLB ([`flush_tlb`]), and neither a frame nor the topmost page is used again before all CPUs have.
///
/// # Panics
/// If there is no such slot.
pub unsafe fn stack_slot_trim(slot: usize, with_top: bool, take: &mut dyn FnMut(u64)) {
    check_exists(slot);
    let pages = (SLOT_MASK.load(Relaxed) >> 12) as usize + usize::from(with_top);
    let first = entries(slot);
    for page in 1..pages {
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
