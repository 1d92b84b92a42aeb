//! The global allocator: `linked_list_allocator` under a futex lock, in regions that the kernel gives by `Map`. What is large has a
//! mapping of its own and goes back to the kernel when it is freed.

use core::alloc::Layout;
use core::ptr::NonNull;
use linked_list_allocator::Heap;

/// What is at least this large is mapped for itself.
const LARGE_BYTES: usize = 256 << 10;
/// The first region; each later one is as large as all before it.
const FIRST_BYTES: usize = 512 << 10;
/// No region is larger.
const REGION_MAX_BYTES: usize = 16 << 20;
/// More memory than 40 regions have is not there for a program.
const REGIONS: usize = 40;

/// Where memory comes from: what the kernel's `Map` does.
trait Pages {
    /// Zeroed memory, page-aligned; `bytes` is a whole number of pages.
    fn map(&mut self, bytes: usize) -> Option<NonNull<u8>>;
}

/// All that is small.
struct Regions {
    heaps: [Heap; REGIONS],
    len: usize,
    bytes: usize,
}

impl Regions {
    const fn new() -> Regions {
        Regions {
            heaps: [const { Heap::empty() }; REGIONS],
            len: 0,
            bytes: 0,
        }
    }

    /// The newest region first: it is the largest, and the emptiest.
    fn alloc(&mut self, layout: Layout, pages: &mut impl Pages) -> Option<NonNull<u8>> {
        let regions = self.heaps[..self.len].iter_mut().rev();
        for heap in regions {
            if let Ok(at) = heap.allocate_first_fit(layout) {
                return Some(at);
            }
        }
        self.grow(layout, pages)?;
        self.heaps[self.len - 1].allocate_first_fit(layout).ok()
    }

    /// If there is not as much as wanted, the smallest region may still be there in which the object fits.
    fn grow(&mut self, layout: Layout, pages: &mut impl Pages) -> Option<()> {
        let place = self.heaps.get_mut(self.len)?;
        // Wherever the region lies, with the allocator's own words.
        let page = abi::PAGE_BYTES as usize;
        let fits = layout.size().checked_add(layout.align())?;
        let fits = fits.checked_add(page)?.checked_next_multiple_of(page)?;
        let least = fits.max(FIRST_BYTES);
        let wanted = self.bytes.min(REGION_MAX_BYTES).max(least);
        let (at, bytes) = match pages.map(wanted) {
            Some(at) => (at, wanted),
            None => (pages.map(least)?, least),
        };
        // SAFETY: fresh memory, ours for good; the heap was empty.
        unsafe { place.init(at.as_ptr(), bytes) };
        self.len += 1;
        self.bytes += bytes;
        Some(())
    }

    /// # Safety
    ///
    /// `at` came from [`alloc`](Regions::alloc) with this layout, and nobody uses it.
    unsafe fn dealloc(&mut self, at: NonNull<u8>, layout: Layout) {
        let here = |heap: &&mut Heap| (heap.bottom()..heap.top()).contains(&at.as_ptr());
        if let Some(heap) = self.heaps[..self.len].iter_mut().find(here) {
            // SAFETY: the caller's promise, and it lies in this region.
            unsafe { heap.deallocate(at, layout) }
        }
    }
}

/// Bytes of a mapping for what is large; `None`: it is small, or wants more alignment than a page's.
fn mapping(layout: Layout) -> Option<usize> {
    let page = abi::PAGE_BYTES as usize;
    (layout.size() >= LARGE_BYTES && layout.align() <= page)
        .then(|| layout.size().next_multiple_of(page))
}

#[cfg(ringo_user)]
mod global {
    use super::{Pages, Regions, mapping};
    use crate::sync::Mutex;
    use crate::syscall;
    use abi::Call;
    use core::alloc::{GlobalAlloc, Layout};
    use core::ptr::{NonNull, null_mut};

    struct Kernel;

    impl Pages for Kernel {
        fn map(&mut self, bytes: usize) -> Option<NonNull<u8>> {
            // SAFETY: fresh memory.
            let at = unsafe { syscall::call(Call::Map, [bytes as u64, 0]) }.ok()?;
            NonNull::new(at as *mut u8)
        }
    }

    struct Global(Mutex<Regions>);

    #[global_allocator]
    static GLOBAL: Global = Global(Mutex::new(Regions::new()));

    // SAFETY: memory comes from the kernel's mappings and is given once until it is freed: `Heap` sees to that under the lock.
    unsafe impl GlobalAlloc for Global {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let at = match mapping(layout) {
                Some(bytes) => Kernel.map(bytes),
                None => self.0.lock().alloc(layout, &mut Kernel),
            };
            at.map_or(null_mut(), NonNull::as_ptr)
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            let Some(at) = NonNull::new(at) else { return };
            // SAFETY: the caller's promise: it came from `alloc` with this layout.
            unsafe {
                match mapping(layout) {
                    Some(bytes) => {
                        let _ = syscall::call(Call::Unmap, [at.as_ptr() as u64, bytes as u64]);
                    }
                    None => self.0.lock().dealloc(at, layout),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of the host's, up to a limit.
    struct Limited {
        left: usize,
        mapped: Vec<(NonNull<u8>, Layout)>,
    }

    impl Limited {
        fn new(left: usize) -> Limited {
            Limited {
                left,
                mapped: Vec::new(),
            }
        }
    }

    impl Pages for Limited {
        fn map(&mut self, bytes: usize) -> Option<NonNull<u8>> {
            self.left = self.left.checked_sub(bytes)?;
            let layout = Layout::from_size_align(bytes, 4096).unwrap();
            // SAFETY: the size is not 0.
            let at = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
            self.mapped.push((at, layout));
            Some(at)
        }
    }

    impl Drop for Limited {
        fn drop(&mut self) {
            for (at, layout) in self.mapped.drain(..) {
                // SAFETY: allocated in `map`; the regions are gone.
                unsafe { std::alloc::dealloc(at.as_ptr(), layout) }
            }
        }
    }

    const BLOCK: Layout = Layout::new::<[u64; 512]>();

    #[test]
    fn regions_grow_and_are_used_again() {
        let mut pages = Limited::new(8 << 20);
        let mut regions = Regions::new();
        for _ in 0..3 {
            let blocks: Vec<_> = (0..1000)
                .map(|_| regions.alloc(BLOCK, &mut pages).unwrap())
                .collect();
            let mut sorted = blocks.clone();
            sorted.sort();
            assert!(
                sorted
                    .windows(2)
                    .all(|w| w[0].as_ptr() as usize + 4096 <= w[1].as_ptr() as usize)
            );
            for at in blocks {
                // SAFETY: from above, once.
                unsafe { regions.dealloc(at, BLOCK) }
            }
        }
        assert_eq!((regions.len, regions.bytes), (4, 4 << 20));
    }

    #[test]
    fn no_memory_is_an_answer() {
        let mut pages = Limited::new((1 << 20) + FIRST_BYTES);
        let mut regions = Regions::new();
        let mut blocks = 0;
        while regions.alloc(BLOCK, &mut pages).is_some() {
            blocks += 1;
        }
        // Two of the first size and, where there was not as much as all before, a third of it.
        assert_eq!((regions.len, pages.left), (3, 0));
        assert!((350..=384).contains(&blocks), "{blocks}");
    }

    /// What is aligned to more than a page fits into the region that is made for it; what cannot be had makes none.
    #[test]
    fn large_alignments() {
        let of = |align| Layout::from_size_align(64, align).unwrap();
        let mut pages = Limited::new(8 << 20);
        let mut regions = Regions::new();
        for align in [4096, 1 << 20, 2 << 20] {
            let at = regions.alloc(of(align), &mut pages).unwrap();
            assert!((at.as_ptr() as usize).is_multiple_of(align))
        }
        let before = (regions.len, pages.left);
        assert!(regions.alloc(of(1 << 30), &mut pages).is_none());
        assert!(regions.alloc(of(1 << 62), &mut pages).is_none());
        assert_eq!((regions.len, pages.left), before);
    }

    #[test]
    fn only_what_is_large_has_a_mapping() {
        let of = |bytes, align| mapping(Layout::from_size_align(bytes, align).unwrap());
        assert_eq!(of(LARGE_BYTES - 1, 8), None);
        assert_eq!(of(LARGE_BYTES + 1, 8), Some(LARGE_BYTES + 4096));
        assert_eq!(of(LARGE_BYTES, 8192), None);
    }
}
