//! The bare machine: `arch`'s page tables and ring 3, `mem`'s frames.
//!
//! Ring 3 gets a frame only while the kernel has a reserve left, so that no process uses up what the kernel itself needs to end it.

use alloc::boxed::Box;
use arch::bare;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use arch::UserExit;
pub use arch::bare::{Access, USER_BASE, USER_END, UserContext};
pub use arch::{cpu_id, num_cpus};
pub use mem::frames::total_frames;
pub use sched::interrupt_busy;

/// Frames that ring 3 leaves alone; 0: not known yet.
static RESERVE: AtomicU64 = AtomicU64::new(0);

/// One in so many.
const RESERVE_PART: u64 = 8;

fn reserve() -> u64 {
    match RESERVE.load(Relaxed) {
        0 => {
            let frames = total_frames() / RESERVE_PART;
            RESERVE.store(frames, Relaxed); // whoever comes first finds the same
            frames
        }
        frames => frames,
    }
}

/// A frame for ring 3, content undefined.
pub fn alloc_frame() -> Option<u64> {
    mem::frames::alloc_above(reserve())
}

/// Takes a frame of [`alloc_frame`] back.
///
/// # Safety
/// Nobody uses it any more, no page table names it, no CPU remembers it.
pub unsafe fn free_frame(frame: u64) {
    // SAFETY: the caller's promise.
    unsafe { mem::frames::free(frame) }
}

/// Where the content of a frame is.
pub fn frame_bytes(frame: u64) -> *mut u8 {
    bare::direct(frame)
}

/// Whether so many frames could be had.
pub fn has_frames(n: u64) -> bool {
    mem::frames::free_frames() > reserve().saturating_add(n)
}

/// Runs a thread in ring 3 until something happens. On its goroutine, with no guard held.
pub fn run(ctx: &mut UserContext, tables: &Tables, stop: &AtomicU32) -> UserExit {
    ctx.run(&tables.0, stop)
}

/// Page tables of one address space. CPUs know them by where they lie, so they have a place of their own.
pub struct Tables(Box<bare::Space>);

impl Tables {
    /// Empty ones; None: no memory.
    pub fn new() -> Option<Tables> {
        let space = bare::Space::new(&mut alloc_frame).ok()?;
        Some(Tables(Box::new(space)))
    }

    /// Maps a page; false: no memory for a table.
    ///
    /// # Safety
    /// The frame is the caller's, and stays for as long as it is mapped. One caller at a time.
    ///
    /// # Panics
    /// If something is mapped there, or the page is not ring 3's.
    pub unsafe fn map(&self, page: u64, frame: u64, access: Access) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.0.map(page, frame, access, &mut alloc_frame) }.is_ok()
    }

    /// The frame of a page that is mapped.
    pub fn lookup(&self, page: u64) -> Option<(u64, Access)> {
        self.0.lookup(page)
    }

    /// Takes a page out; its frame may be remembered until [`Self::shoot_down`].
    ///
    /// # Safety
    /// One caller at a time.
    pub unsafe fn unmap(&self, page: u64) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { self.0.unmap(page) }
    }

    /// Every CPU forgets what it remembers of this space. Waits for them: with no lock held.
    pub fn shoot_down(&self) {
        self.0.shoot_down()
    }

    /// No thread runs in it any more: every CPU leaves it, and all frames go to `take` with their pages; those of its tables are
    /// free. Waits for the CPUs: with no lock held.
    pub fn end(&mut self, take: &mut dyn FnMut(u64, u64)) {
        self.0.retire();
        // SAFETY: retired, and the caller has the only reference to it. A table's frame came from `alloc_frame`, and no CPU walks it
        // any more.
        unsafe { self.0.take_all(take, &mut |table| free_frame(table)) }
    }
}
