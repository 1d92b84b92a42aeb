//! The global allocator of the bare machine.
//!
//! ```text
//!   size, alignment      from                          lock
//!   up to 2048 bytes     slab of the size class        the class's
//!   up to a page         a page frame, direct map      frames
//!   above                `large`                       its own
//! ```
//!
//! All locks hold preemption off, so that a G is never switched away inside; a caller with count 0 may be switched
//! when the lock is dropped. Caches per P come in front of the slabs (Go: `mcache`); until then each call takes
//! a lock. Failure is a null pointer, which ends in `alloc`'s fatal "memory allocation of n bytes failed".

use crate::class::{CLASS_BYTES, class_of};
use crate::slab::Slab;
use crate::{PAGE_BYTES, frames, gstack, large};
use arch::bare;
use base::lock::{Rank, SpinLock};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr;
use crossbeam_utils::CachePadded;

/// The allocator's name: all of its state is in statics, since there is one.
pub struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

type Class = CachePadded<SpinLock<Slab>>;
static CLASSES: [Class; CLASS_BYTES.len()] =
    [const { CachePadded::new(SpinLock::new(Rank::Heap, Slab::new())) }; CLASS_BYTES.len()];

/// A page for a slab, or for an object of about its size.
fn page() -> Option<*mut u8> {
    frames::alloc_above(gstack::kept_frames()).map(bare::direct)
}

fn fits_page(layout: Layout) -> bool {
    layout.size() <= PAGE_BYTES && layout.align() <= PAGE_BYTES
}

/// A page, or an object of several. Apart from the small ones, to whom its registers would be a burden.
#[inline(never)]
fn alloc_pages(layout: Layout) -> *mut u8 {
    if fits_page(layout) {
        page().unwrap_or(ptr::null_mut())
    } else {
        large::alloc(layout)
    }
}

/// Takes back what [`alloc_pages`] gave.
///
/// # Safety
/// It gave the object for this layout, and nobody uses it any more.
#[inline(never)]
unsafe fn free_pages(object: *mut u8, layout: Layout) {
    // SAFETY: as the caller promises.
    unsafe {
        if fits_page(layout) {
            frames::free(object as u64 - bare::direct(0) as u64);
        } else {
            large::free(object, layout);
        }
    }
}

// SAFETY: the memory handed out is of the layout's size and alignment (`class_of`, a page, or `large`), belongs to the
// caller until it is freed, and nothing here unwinds.
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class_of(layout) {
            Some(class) => CLASSES[class].lock().alloc(CLASS_BYTES[class], page),
            None => alloc_pages(layout),
        }
    }

    #[inline]
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        // SAFETY: the layout is that of the allocation, so the object goes back to where it came from.
        unsafe {
            match class_of(layout) {
                Some(class) => CLASSES[class].lock().free(CLASS_BYTES[class], object),
                None => free_pages(object, layout),
            }
        }
    }

    unsafe fn realloc(&self, object: *mut u8, old: Layout, new_bytes: usize) -> *mut u8 {
        // SAFETY: the alignment is an old layout's, and the caller promises a size that does not overflow with it.
        let new = unsafe { Layout::from_size_align_unchecked(new_bytes, old.align()) };
        match (class_of(old), class_of(new)) {
            (Some(a), Some(b)) if a == b => return object,
            (None, None) if fits_page(old) && fits_page(new) => return object,
            _ => {}
        }
        // SAFETY: two different objects, the smaller of the two lengths lies in both.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(object, moved, old.size().min(new_bytes));
                self.dealloc(object, old);
            }
            moved
        }
    }
}

/// What the heap holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapUsage {
    /// Bytes of the pages that belong to size classes.
    pub small_bytes: usize,
    /// Bytes of small objects in use, rounded up to their classes.
    pub small_used_bytes: usize,
    /// Bytes backed for large objects.
    pub large_bytes: usize,
    /// Bytes of large objects in use.
    pub large_used_bytes: usize,
}

/// What the heap holds now. Objects of about a page are in no sum, they are frames.
pub fn usage() -> HeapUsage {
    let mut sum = HeapUsage::default();
    for (class, bytes) in CLASSES.iter().zip(CLASS_BYTES) {
        let slab = class.lock();
        sum.small_bytes += slab.pages() * PAGE_BYTES;
        sum.small_used_bytes += slab.live() * bytes;
    }
    (sum.large_bytes, sum.large_used_bytes) = large::usage();
    sum
}
