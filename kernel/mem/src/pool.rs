//! Free page frames.
//!
//! ```text
//!  range:  [ handed out before, now in use or on the list | never used ......... ]
//!          start                                          next                 end
//!  list:   head -> frame -> frame -> 0      (first word of each free frame: the next one)
//! ```
//!
//! Both ends are O(1). A freed frame is the next one handed out: it is warm in the caches, and a frame never used costs
//! the host a fault of its own. In debug builds a free frame bears a mark that catches a second free.

use crate::PAGE_BYTES;

/// Ranges of memory that a pool can manage; a machine has a handful.
pub const RANGES_MAX: usize = 64;
const PAGE: u64 = PAGE_BYTES as u64;
/// End of the list. Frame 0 is never given to a pool.
const NONE: u64 = 0;
/// Mark of a free frame, mixed with its address.
const FREE_MARK: u64 = 0x6672_6565_5f66_726d;

/// Where a physical address can be reached.
pub trait Direct {
    /// The memory at `phys`.
    fn at(&self, phys: u64) -> *mut u64;
}

/// A range of frames, page-aligned; those below `next` have been handed out at least once.
#[derive(Clone, Copy)]
struct Range {
    start: u64,
    next: u64,
    end: u64,
}

/// A pool of page frames. Addresses are physical, in bytes.
pub struct FramePool<D> {
    direct: D,
    ranges: [Range; RANGES_MAX],
    range_count: usize,
    /// The range from which unused frames come.
    current: usize,
    head: u64,
    free: u64,
    total: u64,
}

impl<D: Direct> FramePool<D> {
    /// An empty pool.
    pub const fn new(direct: D) -> Self {
        const NO_RANGE: Range = Range {
            start: 0,
            next: 0,
            end: 0,
        };
        Self {
            direct,
            ranges: [NO_RANGE; RANGES_MAX],
            range_count: 0,
            current: 0,
            head: NONE,
            free: 0,
            total: 0,
        }
    }

    /// Adds the whole frames that lie in `start..end`. Returns false if there is no room for one more range.
    ///
    /// # Safety
    /// Nobody else uses that memory, now or later, and it does not overlap an earlier range.
    pub unsafe fn add(&mut self, start: u64, end: u64) -> bool {
        let start = start.max(PAGE).next_multiple_of(PAGE);
        let end = end & !(PAGE - 1);
        if start >= end {
            return true;
        }
        if self.range_count == RANGES_MAX {
            return false;
        }
        self.ranges[self.range_count] = Range {
            start,
            next: start,
            end,
        };
        self.range_count += 1;
        self.free += (end - start) / PAGE;
        self.total += (end - start) / PAGE;
        true
    }

    /// A free frame, content undefined.
    #[inline]
    pub fn alloc(&mut self) -> Option<u64> {
        let frame = self.take()?;
        self.unmark(frame);
        Some(frame)
    }

    /// A free frame, which still bears the mark of debug builds: for caches of free frames.
    pub fn take(&mut self) -> Option<u64> {
        let frame = self.head;
        if frame == NONE {
            return self.take_unused();
        }
        // SAFETY: a frame on the list is free, so the pool owns it; `put` wrote this word.
        self.head = unsafe { self.direct.at(frame).read() };
        self.free -= 1;
        Some(frame)
    }

    #[cold]
    fn take_unused(&mut self) -> Option<u64> {
        while self.current < self.range_count {
            let range = &mut self.ranges[self.current];
            if range.next < range.end {
                let frame = range.next;
                range.next += PAGE;
                self.free -= 1;
                if cfg!(debug_assertions) {
                    // SAFETY: a free frame of the pool's.
                    unsafe { self.direct.at(frame).add(1).write(FREE_MARK ^ frame) };
                }
                return Some(frame);
            }
            self.current += 1;
        }
        None
    }

    /// In debug builds, checks that a free frame was left alone, and removes its mark.
    ///
    /// # Panics
    /// In debug builds, if it was written to.
    #[inline]
    pub fn unmark(&self, frame: u64) {
        if cfg!(debug_assertions) {
            // SAFETY: a free frame in the hands of the pool's user.
            unsafe {
                let mark = self.direct.at(frame).add(1);
                assert_eq!(
                    mark.read(),
                    FREE_MARK ^ frame,
                    "frame {frame:#x} was written to after it was freed"
                );
                mark.write(0);
            }
        }
    }

    /// A frame never used before, below `limit`. Touches no frame: for the time before all of RAM can be reached.
    pub fn alloc_unused_below(&mut self, limit: u64) -> Option<u64> {
        let ranges = &mut self.ranges[..self.range_count];
        let range = ranges.iter_mut().find(|r| r.next < r.end.min(limit))?;
        let frame = range.next;
        range.next += PAGE;
        self.free -= 1;
        Some(frame)
    }

    /// `count` frames in a row that were never used: for devices, which know no page tables. The first one's address.
    /// They go back one by one; rows are not put together again.
    pub fn alloc_unused_row(&mut self, count: u64) -> Option<u64> {
        let bytes = count.checked_mul(PAGE)?;
        let ranges = &mut self.ranges[..self.range_count];
        let range = ranges.iter_mut().find(|r| r.end - r.next >= bytes)?;
        let first = range.next;
        range.next += bytes;
        self.free -= count;
        Some(first)
    }

    /// Takes a frame back.
    ///
    /// # Safety
    /// The frame came from this pool and nobody uses it any more.
    ///
    /// # Panics
    /// In debug builds if the frame is none of this pool's, is not page-aligned, or is free already.
    #[inline]
    pub unsafe fn free(&mut self, frame: u64) {
        // SAFETY: the caller's promise.
        unsafe {
            self.mark(frame);
            self.put(frame);
        }
    }

    /// In debug builds, marks a frame as free.
    ///
    /// # Safety
    /// As [`FramePool::free`].
    ///
    /// # Panics
    /// In debug builds, as [`FramePool::free`].
    #[inline]
    pub unsafe fn mark(&self, frame: u64) {
        if cfg!(debug_assertions) {
            self.check_handed_out(frame);
            // SAFETY: the frame is free, says the caller; where that is a lie, this finds it out before it writes.
            unsafe {
                let mark = self.direct.at(frame).add(1);
                assert_ne!(
                    mark.read(),
                    FREE_MARK ^ frame,
                    "frame {frame:#x} is freed twice"
                );
                mark.write(FREE_MARK ^ frame);
            }
        }
    }

    /// Takes a marked frame back.
    ///
    /// # Safety
    /// As [`FramePool::free`].
    #[inline]
    pub unsafe fn put(&mut self, frame: u64) {
        // SAFETY: the frame is the pool's again, says the caller.
        unsafe { self.direct.at(frame).write(self.head) };
        self.head = frame;
        self.free += 1;
    }

    /// Takes a chain of marked frames back, in no time: the first word of each but the last is the address of the next.
    ///
    /// # Safety
    /// As [`FramePool::free`] for each of them; `count` is how many they are.
    pub unsafe fn put_chain(&mut self, first: u64, last: u64, count: u64) {
        // SAFETY: the frames are the pool's again, says the caller.
        unsafe { self.direct.at(last).write(self.head) };
        self.head = first;
        self.free += count;
    }

    fn check_handed_out(&self, frame: u64) {
        let mut ranges = self.ranges[..self.range_count].iter();
        assert!(
            frame.is_multiple_of(PAGE) && ranges.any(|r| r.start <= frame && frame < r.next),
            "{frame:#x} is no frame that was handed out"
        );
    }

    /// Whether `phys` lies in a frame of this pool.
    pub fn contains(&self, phys: u64) -> bool {
        self.ranges[..self.range_count]
            .iter()
            .any(|r| r.start <= phys && phys < r.end)
    }

    /// Frames that are free.
    pub fn free_frames(&self) -> u64 {
        self.free
    }

    /// Frames in all.
    pub fn total_frames(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Memory of the tests: physical address 0x10_0000 is the vector's first word.
    struct Fake(Vec<u64>);
    const BASE: u64 = 0x10_0000;
    impl Direct for Fake {
        fn at(&self, phys: u64) -> *mut u64 {
            let word = ((phys - BASE) / 8) as usize;
            assert!(word < self.0.len());
            self.0.as_ptr().cast_mut().wrapping_add(word)
        }
    }
    fn pool(frames: u64) -> FramePool<Fake> {
        FramePool::new(Fake(vec![0xdead; (frames * PAGE / 8) as usize]))
    }

    #[test]
    fn each_frame_is_handed_out_once_and_comes_back() {
        let mut p = pool(100);
        // SAFETY: ranges of the fake memory.
        unsafe {
            assert!(p.add(BASE + 1, BASE + 10 * PAGE)); // 9 whole frames
            assert!(p.add(BASE + 20 * PAGE, BASE + 50 * PAGE + 4095)); // 30
            assert!(p.add(BASE + 60 * PAGE, BASE + 60 * PAGE + 4000)); // none
        }
        assert_eq!((p.free_frames(), p.total_frames()), (39, 39));
        for _ in 0..3 {
            let got: HashSet<u64> = core::iter::from_fn(|| p.alloc()).collect();
            assert_eq!((got.len(), p.free_frames()), (39, 0));
            assert!(got.iter().all(|f| f.is_multiple_of(PAGE) && p.contains(*f)));
            for f in got {
                // SAFETY: just handed out.
                unsafe { p.free(f) };
            }
            assert_eq!(p.free_frames(), 39);
        }
    }

    #[test]
    fn a_freed_frame_is_the_next_one() {
        let mut p = pool(8);
        // SAFETY: the fake memory.
        unsafe { p.add(BASE, BASE + 8 * PAGE) };
        let (a, b) = (p.alloc().unwrap(), p.alloc().unwrap());
        // SAFETY: just handed out.
        unsafe { p.free(a) };
        assert_eq!(p.alloc(), Some(a));
        // SAFETY: just handed out.
        unsafe { p.free(b) };
        assert_eq!(p.alloc(), Some(b));
    }

    #[test]
    fn early_frames_stay_below_the_limit() {
        let mut p = pool(8);
        // SAFETY: the fake memory.
        unsafe {
            p.add(BASE + 4 * PAGE, BASE + 8 * PAGE);
            p.add(BASE, BASE + 2 * PAGE);
        }
        let limit = BASE + 5 * PAGE;
        let got: Vec<_> = core::iter::from_fn(|| p.alloc_unused_below(limit)).collect();
        assert_eq!(got, [BASE + 4 * PAGE, BASE, BASE + PAGE]);
        assert_eq!(p.free_frames(), 3);
        assert_eq!(core::iter::from_fn(|| p.alloc()).count(), 3);
    }

    #[test]
    fn rows_are_never_used_frames_side_by_side() {
        let mut p = pool(16);
        // SAFETY: the fake memory.
        unsafe {
            p.add(BASE, BASE + 3 * PAGE);
            p.add(BASE + 4 * PAGE, BASE + 12 * PAGE);
        }
        assert_eq!(p.alloc_unused_row(4), Some(BASE + 4 * PAGE));
        assert_eq!(p.alloc_unused_row(2), Some(BASE));
        assert_eq!(p.free_frames(), 5);
        for count in [5, u64::MAX, u64::MAX / PAGE] {
            assert_eq!(p.alloc_unused_row(count), None);
        }
        // SAFETY: just handed out.
        unsafe { p.free(BASE) };
        let rest: HashSet<u64> = core::iter::from_fn(|| p.alloc()).collect();
        assert_eq!((rest.len(), p.free_frames()), (6, 0));
        assert!(!rest.contains(&(BASE + PAGE)) && !rest.contains(&(BASE + 5 * PAGE)));
    }

    #[test]
    fn frame_zero_is_never_given_out_and_too_many_ranges_are_refused() {
        let mut p = pool(1);
        // SAFETY: never touched.
        unsafe {
            p.add(0, 2 * PAGE);
            assert_eq!(p.total_frames(), 1);
            for i in 1..RANGES_MAX as u64 {
                assert!(p.add(i * 4 * PAGE, (i * 4 + 1) * PAGE));
            }
            assert!(!p.add(1 << 40, (1 << 40) + PAGE));
        }
    }

    #[cfg(debug_assertions)]
    mod misuse {
        use super::*;

        fn one_handed_out() -> (FramePool<Fake>, u64) {
            let mut p = pool(8);
            // SAFETY: the fake memory.
            unsafe { p.add(BASE, BASE + 8 * PAGE) };
            let frame = p.alloc().unwrap();
            (p, frame)
        }

        #[test]
        #[should_panic(expected = "freed twice")]
        fn double_free() {
            let (mut p, frame) = one_handed_out();
            // SAFETY: a lie, that is the test.
            unsafe {
                p.free(frame);
                p.free(frame);
            }
        }

        #[test]
        #[should_panic(expected = "is no frame that was handed out")]
        fn foreign_frame() {
            let (mut p, frame) = one_handed_out();
            // SAFETY: a lie, that is the test.
            unsafe { p.free(frame + PAGE) };
        }

        #[test]
        #[should_panic(expected = "is no frame that was handed out")]
        fn address_inside_a_frame() {
            let (mut p, frame) = one_handed_out();
            // SAFETY: a lie, that is the test.
            unsafe { p.free(frame + 8) };
        }

        #[test]
        #[should_panic(expected = "written to after it was freed")]
        fn use_after_free() {
            let (mut p, frame) = one_handed_out();
            // SAFETY: a lie, that is the test.
            unsafe {
                p.free(frame);
                p.direct.at(frame).add(1).write(1);
            }
            p.alloc();
        }
    }
}
