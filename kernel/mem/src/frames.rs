//! Page frames of this machine. Any CPU, any G; never from an interrupt, which takes no lock.

use crate::pool::{Direct, FramePool};
use arch::bare;
use base::lock::{Rank, SpinLock};

/// All RAM lies in the direct map.
struct DirectMap;
impl Direct for DirectMap {
    #[inline]
    fn at(&self, phys: u64) -> *mut u64 {
        bare::direct(phys).cast()
    }
}

static FRAMES: SpinLock<FramePool<DirectMap>> =
    SpinLock::new(Rank::Frames, FramePool::new(DirectMap));

/// End of the memory that boot's own page tables reach.
const BOOT_REACH: u64 = 4 << 30;

/// Gives the machine its RAM: physical `(start, end)` in bytes. Returns the bytes that had to be left out because they
/// lie in too many pieces.
///
/// # Safety
/// Once, at start-up. Nobody else uses these regions, now or later; they do not overlap.
pub unsafe fn init(regions: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut frames = FRAMES.lock();
    let mut left_out = 0;
    for (start, end) in regions {
        // SAFETY: the caller gives this memory away.
        if !unsafe { frames.add(start, end) } {
            left_out += end - start;
        }
    }
    left_out
}

/// A frame for the page tables that are built before all of RAM can be reached: below 4 GiB, never used, not touched here.
pub fn boot_alloc() -> Option<u64> {
    FRAMES.lock().alloc_unused_below(BOOT_REACH)
}

/// A free 4 KiB frame, content undefined; its physical address.
pub fn alloc() -> Option<u64> {
    FRAMES.lock().alloc()
}

/// [`alloc`], but only while more than `keep` frames are free.
pub fn alloc_above(keep: u64) -> Option<u64> {
    let mut frames = FRAMES.lock();
    if frames.free_frames() > keep {
        frames.alloc()
    } else {
        None
    }
}

/// Up to `n` frames at once, each handed to `take`. Fewer if there are no more.
pub fn alloc_many(n: usize, mut take: impl FnMut(u64)) {
    let mut frames = FRAMES.lock();
    for _ in 0..n {
        match frames.alloc() {
            Some(frame) => take(frame),
            None => break,
        }
    }
}

/// `count` frames side by side, content undefined; the physical address of the first. Each goes back by [`free`].
pub fn alloc_row(count: u64) -> Option<u64> {
    FRAMES.lock().alloc_unused_row(count)
}

/// Takes a frame back.
///
/// # Safety
/// It came from here and nobody uses it any more, no page table names it, no TLB remembers it.
///
/// # Panics
/// In debug builds if the frame is free already or was never handed out.
pub unsafe fn free(frame: u64) {
    // SAFETY: as the caller promises.
    unsafe { FRAMES.lock().free(frame) }
}

/// Frames that are free now.
pub fn free_frames() -> u64 {
    FRAMES.lock().free_frames()
}

/// Frames that the machine has, in use or free.
pub fn total_frames() -> u64 {
    FRAMES.lock().total_frames()
}
