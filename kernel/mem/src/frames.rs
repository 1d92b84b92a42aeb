//! Page frames of this machine. Any CPU, any G; never from an interrupt, which takes no lock.
//!
//! ```text
//!   alloc ◄── shelf of this CPU ◄── half a shelf ── pool of all CPUs, behind a lock
//!   free  ──►                   ── half a shelf ──►
//! ```
//!
//! A shelf is touched by its CPU alone, with preemption off. With `mcache=off` shelves stay empty.

use crate::pool::{Direct, FramePool};
use arch::bare;
use base::PreemptGuard;
use base::lock::{Rank, SpinLock};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// All RAM lies in the direct map.
struct DirectMap;
impl Direct for DirectMap {
    #[inline]
    fn at(&self, phys: u64) -> *mut u64 {
        bare::direct(phys).cast()
    }
}

static POOL: SpinLock<FramePool<DirectMap>> =
    SpinLock::new(Rank::Frames, FramePool::new(DirectMap));
/// Frames in the pool, for readers without its lock.
static POOL_FREE: AtomicU64 = AtomicU64::new(0);

/// Frames that a shelf holds at most: 128 KiB.
const SHELF_MAX: usize = 32;
/// The same, or 0 while there are no shelves.
static SHELF_LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Free frames at one CPU's hand.
#[repr(align(128))]
struct Shelf {
    count: AtomicUsize,
    frames: [AtomicU64; SHELF_MAX],
}
static SHELVES: [Shelf; arch::MAX_CPUS] = [const {
    Shelf {
        count: AtomicUsize::new(0),
        frames: [const { AtomicU64::new(0) }; SHELF_MAX],
    }
}; arch::MAX_CPUS];

/// End of the memory that boot's own page tables reach.
const BOOT_REACH: u64 = 4 << 30;

fn with_pool<R>(f: impl FnOnce(&mut FramePool<DirectMap>) -> R) -> R {
    let mut pool = POOL.lock();
    let result = f(&mut pool);
    POOL_FREE.store(pool.free_frames(), Relaxed);
    result
}

/// The shelf of this CPU.
#[inline]
fn shelf(_on_this_cpu: &PreemptGuard) -> &Shelf {
    &SHELVES[arch::cpu_id() % arch::MAX_CPUS]
}

/// Gives the machine its RAM: physical `(start, end)` in bytes. Returns the bytes that had to be left out because they
/// lie in too many pieces.
///
/// # Safety
/// Once, at start-up. Nobody else uses these regions, now or later; they do not overlap.
pub unsafe fn init(regions: impl Iterator<Item = (u64, u64)>) -> u64 {
    let mut left_out = 0;
    for (start, end) in regions {
        // SAFETY: the caller gives this memory away.
        if !with_pool(|pool| unsafe { pool.add(start, end) }) {
            left_out += end - start;
            continue;
        }
        crate::descs::add(start, end);
    }
    left_out
}

/// Whether each CPU keeps a few frames at hand. Once, at start-up; without this call it does not.
pub fn set_caches(on: bool) {
    SHELF_LIMIT.store(if on { SHELF_MAX } else { 0 }, Relaxed);
}

/// A frame for the page tables that are built before all of RAM can be reached: below 4 GiB, never used, not touched here.
pub fn boot_alloc() -> Option<u64> {
    with_pool(|pool| pool.alloc_unused_below(BOOT_REACH))
}

/// A free 4 KiB frame, content undefined; its physical address.
#[inline]
pub fn alloc() -> Option<u64> {
    let guard = PreemptGuard::new();
    let shelf = shelf(&guard);
    let n = shelf.count.load(Relaxed);
    if n == 0 {
        return refill(shelf);
    }
    shelf.count.store(n - 1, Relaxed);
    let frame = shelf.frames[n - 1].load(Relaxed);
    if cfg!(debug_assertions) {
        POOL.lock().unmark(frame);
    }
    Some(frame)
}

#[cold]
#[inline(never)]
fn refill(shelf: &Shelf) -> Option<u64> {
    with_pool(|pool| {
        let mut n = 0;
        while n < SHELF_LIMIT.load(Relaxed) / 2
            && let Some(frame) = pool.take()
        {
            shelf.frames[n].store(frame, Relaxed);
            n += 1;
        }
        shelf.count.store(n, Relaxed);
        let frame = match n {
            0 => pool.take()?,
            _ => {
                shelf.count.store(n - 1, Relaxed);
                shelf.frames[n - 1].load(Relaxed)
            }
        };
        pool.unmark(frame);
        Some(frame)
    })
}

/// [`alloc`], but only while more than `keep` frames are free for any CPU.
pub fn alloc_above(keep: u64) -> Option<u64> {
    if POOL_FREE.load(Relaxed) > keep {
        alloc()
    } else {
        None
    }
}

/// Up to `n` frames at once, each handed to `take`. Fewer if there are no more.
pub fn alloc_many(n: usize, mut take: impl FnMut(u64)) {
    for _ in 0..n {
        match alloc() {
            Some(frame) => take(frame),
            None => break,
        }
    }
}

/// `count` frames side by side, content undefined; the physical address of the first. Each goes back by [`free`].
pub fn alloc_row(count: u64) -> Option<u64> {
    with_pool(|pool| pool.alloc_unused_row(count))
}

/// `count` frames side by side, full of zeroes: the physical address of the first, and where they can be reached. What devices
/// share with a driver. Each goes back by [`free`].
pub fn alloc_zeroed_row(count: u64) -> Option<(u64, *mut u8)> {
    let phys = match count {
        1 => alloc(), // any frame is a row of one
        _ => alloc_row(count),
    }?;
    let at = bare::direct(phys);
    // SAFETY: just allocated; the direct map has all frames.
    unsafe { at.write_bytes(0, count as usize * crate::PAGE_BYTES) };
    Some((phys, at))
}

/// Takes a frame back.
///
/// # Safety
/// It came from here and nobody uses it any more, no page table names it, no TLB remembers it.
///
/// # Panics
/// In debug builds if the frame is free already or was never handed out.
#[inline]
pub unsafe fn free(frame: u64) {
    let guard = PreemptGuard::new();
    if cfg!(debug_assertions) {
        // SAFETY: as the caller promises.
        unsafe { POOL.lock().mark(frame) };
    }
    let shelf = shelf(&guard);
    let mut n = shelf.count.load(Relaxed);
    if n >= SHELF_LIMIT.load(Relaxed) {
        n = flush(shelf);
        if SHELF_LIMIT.load(Relaxed) == 0 {
            // SAFETY: as the caller promises; marked above.
            return with_pool(|pool| unsafe { pool.put(frame) });
        }
    }
    shelf.frames[n].store(frame, Relaxed);
    shelf.count.store(n + 1, Relaxed);
}

/// Gives half of a full shelf back; how many frames are left on it.
#[cold]
#[inline(never)]
fn flush(shelf: &Shelf) -> usize {
    let n = shelf.count.load(Relaxed);
    let keep = SHELF_LIMIT.load(Relaxed) / 2;
    with_pool(|pool| {
        for frame in shelf.frames.iter().take(n).skip(keep) {
            // SAFETY: frames on a shelf are free, and marked.
            unsafe { pool.put(frame.load(Relaxed)) }
        }
    });
    shelf.count.store(n.min(keep), Relaxed);
    n.min(keep)
}

/// Free frames, each but the last with the address of the next in its first word.
pub(crate) struct Chain {
    first: u64,
    last: u64,
    count: u64,
}

impl Chain {
    pub(crate) const fn new() -> Self {
        Self {
            first: 0,
            last: 0,
            count: 0,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Takes a frame.
    ///
    /// # Safety
    /// As [`free`], but a TLB may remember it.
    pub(crate) unsafe fn push(&mut self, frame: u64) {
        // SAFETY: nobody uses the frame, says the caller.
        unsafe {
            if cfg!(debug_assertions) {
                POOL.lock().mark(frame);
            }
            DirectMap.at(frame).write(self.first);
        }
        if self.count == 0 {
            self.last = frame;
        }
        self.first = frame;
        self.count += 1;
    }

    /// All of another one.
    pub(crate) fn append(&mut self, other: Chain) {
        if self.count == 0 {
            *self = other;
        } else if other.count != 0 {
            // SAFETY: free frames belong to their chain.
            unsafe { DirectMap.at(other.last).write(self.first) };
            self.first = other.first;
            self.count += other.count;
        }
    }
}

/// Takes all frames of a chain back, in no time.
///
/// # Safety
/// As [`free`] for each of them.
pub(crate) unsafe fn free_chain(chain: Chain) {
    if chain.count != 0 {
        // SAFETY: as the caller promises.
        with_pool(|pool| unsafe { pool.put_chain(chain.first, chain.last, chain.count) });
    }
}

/// Frames that are free now: those in the pool, and at the hand of each CPU.
pub fn free_frames() -> u64 {
    let shelves = SHELVES.iter().map(|shelf| shelf.count.load(Relaxed) as u64);
    POOL_FREE.load(Relaxed) + shelves.sum::<u64>()
}

/// Frames that the machine has, in use or free.
pub fn total_frames() -> u64 {
    POOL.lock().total_frames()
}
