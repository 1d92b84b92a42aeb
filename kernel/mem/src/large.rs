//! Objects above a page: `linked_list_allocator` over a window of addresses that grows by mapping frames.

use crate::{PAGE_BYTES, frames, gstack};
use arch::bare::{self, PageFlags};
use base::lock::{Rank, SpinLock};
use core::alloc::Layout;
use core::ptr::{self, NonNull};
use linked_list_allocator::Heap;

/// Growth in one step at least.
const STEP_BYTES: usize = 256 << 10;
/// Bytes of the window that `arch` keeps for this heap.
const WINDOW_BYTES: usize = 512 << 30;

static LARGE: SpinLock<Large> = SpinLock::new(
    Rank::Heap,
    Large {
        heap: Heap::empty(),
        mapped: 0,
    },
);

struct Large {
    heap: Heap,
    /// Bytes of the window that are backed, from its start.
    mapped: usize,
}

impl Large {
    /// Backs more of the window, so that an object of this layout fits. False if there are not enough frames; what was
    /// backed stays.
    fn grow(&mut self, layout: Layout) -> bool {
        // The object, its alignment, the allocator's own words at both ends.
        let Some(need) = layout.size().checked_add(layout.align() + PAGE_BYTES) else {
            return false;
        };
        // What cannot be had in full is not begun: pages that the window has are never given back, so a request for too
        // much would take everybody's memory before it fails. (Two thousandths more, for page tables.)
        let free = frames::free_frames().saturating_sub(gstack::kept_frames());
        let can_be_had = |&bytes: &usize| {
            let pages = (bytes / PAGE_BYTES) as u64;
            bytes <= WINDOW_BYTES - self.mapped && pages + pages / 500 + 3 <= free
        };
        let wants = [STEP_BYTES, PAGE_BYTES].map(|step| need.next_multiple_of(step));
        let Some(want) = wants.into_iter().find(can_be_had) else {
            return false;
        };
        let before = self.mapped;
        while self.mapped < before + want {
            let Some(frame) = frames::alloc() else { break };
            let virt = bare::HEAP_BASE + self.mapped as u64;
            let flags = PageFlags {
                write: true,
                uncached: false,
            };
            // SAFETY: the page lies in this heap's window and was not mapped before; the frame is ours.
            let result = unsafe { bare::map_pages(virt, frame, 1, flags, &mut frames::alloc) };
            if result.is_err() {
                // SAFETY: just handed out, mapped nowhere.
                unsafe { frames::free(frame) };
                break;
            }
            self.mapped += PAGE_BYTES;
        }
        let grown = self.mapped - before;
        if grown > 0 {
            // SAFETY: the window is backed from its start to `mapped`, without a gap, for good.
            unsafe {
                if before == 0 {
                    self.heap.init(bare::HEAP_BASE as *mut u8, grown);
                } else {
                    self.heap.extend(grown);
                }
            }
        }
        grown == want
    }
}

/// Memory for a large object, null if there is none.
pub fn alloc(layout: Layout) -> *mut u8 {
    let mut large = LARGE.lock();
    loop {
        if let Ok(object) = large.heap.allocate_first_fit(layout) {
            return object.as_ptr();
        }
        if !large.grow(layout) {
            return ptr::null_mut();
        }
    }
}

/// Takes a large object back.
///
/// # Safety
/// It came from [`alloc`] with this layout and nobody uses it any more.
pub unsafe fn free(object: *mut u8, layout: Layout) {
    let mut large = LARGE.lock();
    if cfg!(debug_assertions) {
        let start = bare::HEAP_BASE as usize;
        assert!(
            (start..start + large.mapped).contains(&(object as usize)),
            "{object:p} is freed with {} bytes, but lies in no heap",
            layout.size()
        );
    }
    // SAFETY: not null (checked by the caller's promise), from this heap.
    unsafe {
        large
            .heap
            .deallocate(NonNull::new_unchecked(object), layout)
    }
}

/// `(bytes backed, bytes in use)`.
pub fn usage() -> (usize, usize) {
    let large = LARGE.lock();
    (large.mapped, large.heap.used())
}
