//! Stacks of the host machine: its own mappings.

use super::*;
use arch::hosted;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static SLOT_BYTES: AtomicUsize = AtomicUsize::new(SLOT_BYTES_DEFAULT);

/// Sets the size of the slots that are made from now on, in bytes.
///
/// # Panics
/// If the size is no power of two from 16 KiB to 1 MiB.
pub fn init(slot_bytes: usize) {
    check_slot_bytes(slot_bytes);
    SLOT_BYTES.store(slot_bytes, Relaxed);
}

/// Bytes of a slot, the guard page among them.
pub fn slot_bytes() -> usize {
    SLOT_BYTES.load(Relaxed)
}

/// A new stack.
///
/// # Errors
/// [`OutOfMemory`] if the host has no address space left for the process.
pub fn alloc() -> Result<GStack, OutOfMemory> {
    let stack = hosted::map_stack(slot_bytes()).map_err(|_| OutOfMemory)?;
    debug_assert!(stack.lo % PAGE_BYTES == 0);
    Ok(GStack {
        lo: stack.lo,
        top: stack.top,
        slot: u32::try_from(stack.slot).map_err(|_| OutOfMemory)?,
    })
}

/// On the bare machine this fills the reserve of stack pages. Here the OS backs stacks.
#[inline]
pub fn before_execute(_stamp: u64) {}

/// On the bare machine this gives back what dead Gs have touched of their stacks. Here the OS keeps it.
#[derive(Default)]
pub struct Trim;

impl Trim {
    /// Nothing so far.
    pub const fn new() -> Self {
        Self
    }

    /// Does nothing.
    ///
    /// # Safety
    /// None is needed here.
    pub unsafe fn stack(&mut self, _address: usize) {}

    /// Keeps the stack.
    ///
    /// # Safety
    /// None is needed here.
    pub unsafe fn release(&mut self, _address: usize) {}

    /// The stamp: 0, nothing was taken.
    pub fn finish(self) -> u64 {
        0
    }
}

/// Number of the slot in which an address lies, its guard page included. Takes no lock: for reports.
pub fn slot_of(address: usize) -> Option<u32> {
    hosted::stack_slot_of(address).map(|slot| slot as u32)
}
