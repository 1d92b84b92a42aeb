//! What a word in memory may point to: for those who follow pointers without knowing types (`sched::leak`).

use crate::class::{CLASS_BYTES, per_page};
use crate::{PAGE_BYTES, descs, heap, large};
use arch::bare;
use core::ops::Range;

/// Memory of the heap in which an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its first byte.
    pub start: usize,
    /// Its length: that of its size class, or a page.
    pub bytes: usize,
}

/// The object or page of RAM in which `address` lies, whether it is in use or not; `None` for addresses of anything else,
/// and for objects that were never handed out. Large objects are not told apart: see
/// [`for_each_large`].
///
/// Right while nobody allocates.
pub fn object_at(address: usize) -> Option<Object> {
    let phys = (address as u64).checked_sub(bare::DIRECT_BASE)?;
    let page = u32::try_from(phys / PAGE_BYTES as u64).ok()?;
    let start = address & !(PAGE_BYTES - 1);
    // SAFETY: descriptions lie in RAM that is mapped; what one holds that is no slab's is looked at below.
    let desc = unsafe { descs::find(page)?.read() };
    let Some((class, fresh)) = desc.in_use() else {
        return Some(Object {
            start,
            bytes: PAGE_BYTES,
        });
    };
    let bytes = CLASS_BYTES[class];
    let at = address % PAGE_BYTES / bytes;
    (at < fresh.min(per_page(class))).then_some(Object {
        start: start + at * bytes,
        bytes,
    })
}

/// The start of each [`Object`] of which is known that nobody has it: what lies there is left over. Right while nobody
/// allocates. Pages that are free are not among them.
pub fn for_each_free(f: impl FnMut(usize)) {
    heap::for_each_free(f)
}

/// Physical address behind all RAM in which [`object_at`] finds objects.
pub fn end_of_ram() -> u64 {
    descs::end() * PAGE_BYTES as u64
}

/// All memory of large objects. Right while nobody allocates.
pub fn for_each_large(f: impl FnMut(Range<usize>)) {
    large::for_each(f)
}

/// The heap's own statics: what they point to is free.
pub fn own_statics() -> Range<usize> {
    heap::magazines()
}

/// Objects that can be told apart at most: small ones in use, and pages.
pub fn objects_at_most() -> usize {
    let small = heap::usage();
    let pages = crate::frames::total_frames() - crate::frames::free_frames();
    // Those of 16 bytes are the smallest.
    (small.small_used_bytes + small.cached_bytes) / CLASS_BYTES[0] + pages as usize
}
