//! A model of the machine, for the host: frames are pieces of the heap, page tables a map, and a thread runs instructions of six
//! words each out of its memory ([`op`]).
//!
//! What the real machine forgives only by luck is an error here: a frame that is freed while a CPU may remember it, and one
//! that is freed twice.

#[path = "model/cpu.rs"]
mod cpu;

pub use cpu::{UserContext, interrupt_busy, op, run};

use super::PAGE;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::vec::Vec;

/// Lowest address that ring 3 may have mapped.
pub const USER_BASE: u64 = 0x1_0000;
/// End of what it may have mapped.
pub const USER_END: u64 = 0x7fff_ffff_0000;

/// What ring 3 may do with a page, beside reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Write to it.
    pub write: bool,
    /// Execute what is there.
    pub execute: bool,
}

/// Frames that are in use, and those of them that some CPU may remember.
static IN_USE: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
static REMEMBERED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

const FRAME: Layout = match Layout::from_size_align(PAGE as usize, PAGE as usize) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// What a test that has failed leaves behind is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A frame for ring 3, content undefined.
pub fn alloc_frame() -> Option<u64> {
    // SAFETY: the layout is not empty.
    let frame = unsafe { alloc(FRAME) } as u64;
    if frame == 0 {
        return None;
    }
    lock(&IN_USE).insert(frame);
    Some(frame)
}

/// Takes a frame of [`alloc_frame`] back.
///
/// # Safety
/// Nobody uses it any more, no page table names it.
///
/// # Panics
/// If it is free, or some CPU may remember it.
pub unsafe fn free_frame(frame: u64) {
    assert!(!lock(&REMEMBERED).contains(&frame), "a CPU remembers it");
    assert!(lock(&IN_USE).remove(&frame), "freed twice");
    // SAFETY: it came from `alloc`, says the list.
    unsafe { dealloc(frame as *mut u8, FRAME) }
}

/// Where the content of a frame is.
pub fn frame_bytes(frame: u64) -> *mut u8 {
    frame as *mut u8
}

/// Whether so many frames could be had.
pub fn has_frames(_: u64) -> bool {
    true
}

/// Frames of the machine.
pub fn total_frames() -> u64 {
    (512 << 20) / PAGE
}

/// CPUs of the machine.
pub fn num_cpus() -> usize {
    2
}

/// The CPU that the caller runs on.
pub fn cpu_id() -> usize {
    arch::cpu_id()
}

/// Page tables of one address space.
pub struct Tables {
    pages: Mutex<BTreeMap<u64, (u64, Access)>>,
    /// Frames that were taken out and not shot down yet.
    stale: Mutex<Vec<u64>>,
}

impl Tables {
    /// Empty ones; None: no memory.
    pub fn new() -> Option<Tables> {
        Some(Tables {
            pages: Mutex::new(BTreeMap::new()),
            stale: Mutex::new(Vec::new()),
        })
    }

    /// Maps a page; false: no memory for a table.
    ///
    /// # Safety
    /// The frame is the caller's, and stays for as long as it is mapped. One caller at a time.
    ///
    /// # Panics
    /// If something is mapped there, or the page is not ring 3's.
    pub unsafe fn map(&self, page: u64, frame: u64, access: Access) -> bool {
        assert!((USER_BASE..USER_END).contains(&page) && page.is_multiple_of(PAGE));
        let before = lock(&self.pages).insert(page, (frame, access));
        assert!(before.is_none(), "mapped already");
        true
    }

    /// The frame of a page that is mapped.
    pub fn lookup(&self, page: u64) -> Option<(u64, Access)> {
        lock(&self.pages).get(&page).copied()
    }

    /// Takes a page out; its frame may be remembered until [`Self::shoot_down`].
    ///
    /// # Safety
    /// One caller at a time.
    pub unsafe fn unmap(&self, page: u64) -> Option<u64> {
        let (frame, _) = lock(&self.pages).remove(&page)?;
        lock(&self.stale).push(frame);
        lock(&REMEMBERED).insert(frame);
        Some(frame)
    }

    /// Every CPU forgets what it remembers of this space.
    pub fn shoot_down(&self) {
        for frame in lock(&self.stale).drain(..) {
            lock(&REMEMBERED).remove(&frame);
        }
    }

    /// No thread runs in it any more: every CPU leaves it, and all frames go to `take` with their pages.
    pub fn end(&mut self, take: &mut dyn FnMut(u64, u64)) {
        self.shoot_down();
        for (page, (frame, _)) in std::mem::take(&mut *lock(&self.pages)) {
            take(page, frame)
        }
    }
}
