//! A description for each page frame: 16 bytes that a slab writes when the frame becomes one of its pages.
//!
//! Each region of RAM has its descriptions in one row of frames. A row is not cleared: the frames of a region that is never
//! used for small objects stay untouched, and cost the host nothing.

use crate::slab::PageDesc;
use crate::{PAGE_BYTES, frames, pool};
use arch::bare;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Region {
    /// Number of its first frame.
    first: AtomicU64,
    frames: AtomicU64,
    /// Physical address of the descriptions.
    row: AtomicU64,
}
impl Region {
    fn get(&self) -> [u64; 3] {
        [&self.first, &self.frames, &self.row].map(|field| field.load(Relaxed))
    }
    fn set(&self, [first, frames, row]: [u64; 3]) {
        self.first.store(first, Relaxed);
        self.frames.store(frames, Relaxed);
        self.row.store(row, Relaxed);
    }
}
/// Written at start-up, by one CPU, only read afterwards.
static REGIONS: [Region; pool::RANGES_MAX] = [const {
    Region {
        first: AtomicU64::new(0),
        frames: AtomicU64::new(0),
        row: AtomicU64::new(0),
    }
}; pool::RANGES_MAX];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Makes room for the frames of a region that was just given to the pool. Where there is no room, the pages of that region
/// serve everything but slabs.
pub(crate) fn add(start: u64, end: u64) {
    let page = PAGE_BYTES as u64;
    let (first, end) = (start.div_ceil(page), end / page);
    let frames = end.saturating_sub(first);
    let bytes = frames * size_of::<PageDesc>() as u64;
    if frames == 0 {
        return;
    }
    let Some(row) = frames::alloc_row(bytes.div_ceil(page)) else {
        return;
    };
    // The largest first: nearly all frames are found there.
    let mut at = COUNT.load(Relaxed);
    COUNT.store(at + 1, Relaxed);
    while at > 0 && REGIONS[at - 1].frames.load(Relaxed) < frames {
        REGIONS[at].set(REGIONS[at - 1].get());
        at -= 1;
    }
    REGIONS[at].set([first, frames, row]);
}

/// Number of the first frame behind all that have descriptions.
pub(crate) fn end() -> u64 {
    let regions = REGIONS.iter().take(COUNT.load(Relaxed));
    let ends = regions.map(|r| r.first.load(Relaxed) + r.frames.load(Relaxed));
    ends.max().unwrap_or(0)
}

/// The description of a frame, by its number; None if it has none.
#[inline]
pub(crate) fn find(number: u32) -> Option<*mut PageDesc> {
    for region in REGIONS.iter().take(COUNT.load(Relaxed)) {
        let at = u64::from(number).wrapping_sub(region.first.load(Relaxed));
        if at < region.frames.load(Relaxed) {
            let row: *mut PageDesc = bare::direct(region.row.load(Relaxed)).cast();
            return Some(row.wrapping_add(at as usize));
        }
    }
    None
}
