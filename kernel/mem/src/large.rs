//! Objects above a page: each has page frames of its own, mapped side by side in the heap's window (`runs`).
//!
//! So memory of an object that is freed is anybody's again, a stack's or a program's, as soon as no TLB remembers it: its frames wait
//! in quarantine meanwhile (`flush`). What an object takes is its pages, and nothing keeps the memory of others;
//! only page tables stay, a 512th of what was most in use of each size.

use crate::frames::Chain;
use crate::runs::{self, Notes, Runs};
use crate::{PAGE_BYTES, flush, frames, gstack};
use arch::bare::{self, PageFlags};
use base::lock::{Rank, SpinLock};
use core::alloc::Layout;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Places of objects.
static RUNS: SpinLock<Runs> = SpinLock::new(Rank::Heap, Runs::new());
/// Pages and bytes of the objects that there are.
static PAGES: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The last GiB of the window is for registers of devices.
const _: () = assert!(runs::WINDOW_PAGES * PAGE_BYTES as u64 <= 511 << 30);

fn address_of(page: u64) -> u64 {
    bare::HEAP_BASE + page * PAGE_BYTES as u64
}

/// The words lie in the entries of the page tables.
struct Entries;
impl Notes for Entries {
    fn get(&self, page: u64) -> u64 {
        bare::page_note(address_of(page))
    }
    fn set(&self, page: u64, note: u64) {
        let set = bare::set_page_note(address_of(page), note, &mut || None);
        debug_assert!(set.is_ok(), "`begin` has made the table");
    }
    fn begin(&self, page: u64) -> bool {
        // The next page's entry is in the same table: runs begin at even pages.
        bare::set_page_note(address_of(page), 0, &mut frames::alloc).is_ok()
    }
}

/// Whether so many pages can be had, and a table for each 512. What cannot be had in full is not begun: a request for too much
/// would take everybody's memory before it fails.
fn can_be_had(pages: u64) -> bool {
    let free = frames::free_frames().saturating_sub(gstack::kept_frames());
    pages.saturating_add(pages / 500 + 3) <= free
}

fn try_alloc(layout: Layout) -> Option<*mut u8> {
    let pages = layout.size().div_ceil(PAGE_BYTES);
    if !can_be_had(pages as u64) {
        return None;
    }
    // Runs lie at multiples of their size.
    let run_pages = pages.max(layout.align() / PAGE_BYTES) as u64;
    let run = RUNS.lock().take(run_pages, &Entries, flush::passed)?;
    for page in 0..pages as u64 {
        if !map(run + page) {
            give_back(run, page);
            return None;
        }
    }
    PAGES.fetch_add(pages, Relaxed);
    BYTES.fetch_add(layout.size(), Relaxed);
    Some(address_of(run) as *mut u8)
}

/// Backs a page of a run that the caller has taken; false: no frame.
fn map(page: u64) -> bool {
    let Some(frame) = frames::alloc() else {
        return false;
    };
    let flags = PageFlags {
        write: true,
        uncached: false,
    };
    let virt = address_of(page);
    // SAFETY: a page of a run that is the caller's, and that no TLB remembers (`Runs::take`); the frame is ours.
    if unsafe { bare::map_pages(virt, frame, 1, flags, &mut frames::alloc) }.is_err() {
        // SAFETY: just handed out, mapped nowhere.
        unsafe { frames::free(frame) };
        return false;
    }
    true
}

/// Takes the first `pages` pages of a run out, and gives the run back. Nobody uses it any more.
fn give_back(run: u64, pages: u64) {
    let mut chain = Chain::new();
    for page in run..run + pages {
        // SAFETY: nobody uses it; `Runs` and the quarantine keep address and frame until all CPUs have flushed.
        unsafe {
            if let Some(frame) = bare::unmap_page(address_of(page)) {
                chain.push(frame)
            }
        }
    }
    let stamp = flush::next_stamp();
    RUNS.lock().give(run, stamp, &Entries);
    flush::hold(chain)
}

/// Memory for a large object, null if there is none.
pub fn alloc(layout: Layout) -> *mut u8 {
    if let Some(object) = try_alloc(layout) {
        return object;
    }
    // Some may be on its way back. Waiting for it is for those whom nobody waits for.
    if flush::held_frames() == 0 || arch::preempt_count() != 0 {
        return ptr::null_mut();
    }
    flush::reclaim();
    try_alloc(layout).unwrap_or(ptr::null_mut())
}

/// Takes a large object back.
///
/// # Safety
/// It came from [`alloc`] with this layout and nobody uses it any more.
pub unsafe fn free(object: *mut u8, layout: Layout) {
    let offset = (object as u64).wrapping_sub(bare::HEAP_BASE);
    let page = offset / PAGE_BYTES as u64;
    if cfg!(debug_assertions) {
        assert!(
            page < runs::WINDOW_PAGES && bare::readable(object as u64),
            "{object:p} is freed with {} bytes, but lies in no heap",
            layout.size()
        );
    }
    let pages = layout.size().div_ceil(PAGE_BYTES);
    PAGES.fetch_sub(pages, Relaxed);
    BYTES.fetch_sub(layout.size(), Relaxed);
    give_back(page, pages as u64)
}

/// `(bytes backed, bytes in use)`.
pub fn usage() -> (usize, usize) {
    (PAGES.load(Relaxed) * PAGE_BYTES, BYTES.load(Relaxed))
}

/// The addresses of each object. Right while nobody allocates.
pub fn for_each(mut f: impl FnMut(Range<usize>)) {
    RUNS.lock().for_each(|run, pages| {
        let mut all = run..run + pages;
        let backed = all.position(|page| !bare::readable(address_of(page)));
        let end = run + backed.map_or(pages, |n| n as u64);
        if end != run {
            f(address_of(run) as usize..address_of(end) as usize)
        }
    })
}
