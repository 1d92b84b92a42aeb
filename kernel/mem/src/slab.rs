//! Free objects of one size class.
//!
//! Freed objects form a list through their first words; a page taken for the class is cut off object by object, only as
//! far as it is used. Pages stay with their class. In debug builds a free object bears a mark that catches a second
//! free and a late write.

use crate::PAGE_BYTES;
use core::ptr;

/// Mark of a free object, mixed with its address.
const FREE_MARK: usize = 0x6672_6565_5f6f_626a;

/// The free objects of one class. All calls of one slab name the same size.
pub struct Slab {
    head: *mut usize,
    /// Next object of the page that is being cut, and how many are left there.
    cut: *mut u8,
    cut_left: usize,
    pages: usize,
    live: usize,
}
// SAFETY: the slab owns the free objects and pages that it points to.
unsafe impl Send for Slab {}

impl Default for Slab {
    fn default() -> Self {
        Self::new()
    }
}

impl Slab {
    /// An empty slab.
    pub const fn new() -> Self {
        Self {
            head: ptr::null_mut(),
            cut: ptr::null_mut(),
            cut_left: 0,
            pages: 0,
            live: 0,
        }
    }

    /// An object of `bytes`, content undefined; null if a page is needed and `new_page` has none.
    #[inline]
    pub fn alloc(&mut self, bytes: usize, new_page: impl FnOnce() -> Option<*mut u8>) -> *mut u8 {
        let object = self.head;
        if object.is_null() {
            return self.cut_off(bytes, new_page);
        }
        // SAFETY: a free object is the slab's; `free` wrote these words.
        unsafe {
            self.head = object.read() as *mut usize;
            if cfg!(debug_assertions) {
                let mark = object.add(1).read();
                assert_eq!(
                    mark,
                    FREE_MARK ^ object as usize,
                    "heap object {object:p} of {bytes} bytes was written to after it was freed"
                );
                object.add(1).write(0);
            }
        }
        self.live += 1;
        object.cast()
    }

    #[cold]
    fn cut_off(&mut self, bytes: usize, new_page: impl FnOnce() -> Option<*mut u8>) -> *mut u8 {
        if self.cut_left == 0 {
            let Some(page) = new_page() else {
                return ptr::null_mut();
            };
            self.cut = page;
            self.cut_left = PAGE_BYTES / bytes;
            self.pages += 1;
        }
        let object = self.cut;
        self.cut = object.wrapping_add(bytes);
        self.cut_left -= 1;
        self.live += 1;
        object
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// The object came from this slab and nobody uses it any more.
    ///
    /// # Panics
    /// In debug builds if the object is free already, or no object of `bytes` begins at this address.
    #[inline]
    pub unsafe fn free(&mut self, bytes: usize, object: *mut u8) {
        let words: *mut usize = object.cast();
        // SAFETY: at least 16 bytes, 8-aligned, and the slab's again, says the caller.
        unsafe {
            if cfg!(debug_assertions) {
                let offset = object as usize % PAGE_BYTES;
                assert!(
                    offset.is_multiple_of(bytes) && offset + bytes <= PAGE_BYTES,
                    "{object:p} is freed, but no heap object of {bytes} bytes begins there"
                );
                assert_ne!(
                    words.add(1).read(),
                    FREE_MARK ^ object as usize,
                    "heap object {object:p} of {bytes} bytes is freed twice"
                );
                words.add(1).write(FREE_MARK ^ object as usize);
            }
            words.write(self.head as usize);
        }
        self.head = words;
        self.live -= 1;
    }

    /// Pages that belong to this class.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Objects in use.
    pub fn live(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::{CLASS_BYTES, per_page};
    use std::collections::HashSet;

    #[repr(align(4096))]
    struct Page([u8; PAGE_BYTES]);
    fn page() -> Option<*mut u8> {
        Some(Box::leak(Box::new(Page([0xaa; PAGE_BYTES]))).0.as_mut_ptr())
    }

    #[test]
    fn objects_do_not_overlap_and_pages_are_used_up() {
        for (class, &bytes) in CLASS_BYTES.iter().enumerate() {
            let mut slab = Slab::new();
            let n = per_page(class) * 3;
            let objects: Vec<_> = (0..n).map(|_| slab.alloc(bytes, page)).collect();
            assert_eq!((slab.pages(), slab.live()), (3, n));
            let mut sorted: Vec<_> = objects.iter().map(|&o| o as usize).collect();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|w| w[1] - w[0] >= bytes));
            for &o in &objects {
                // SAFETY: each object is `bytes` long and ours.
                unsafe { ptr::write_bytes(o, 0x55, bytes) };
            }
            for &o in &objects {
                // SAFETY: came from this slab.
                unsafe { slab.free(bytes, o) };
            }
            assert_eq!(slab.live(), 0);
            let again: HashSet<_> = (0..n).map(|_| slab.alloc(bytes, || None)).collect();
            assert_eq!(again, objects.into_iter().collect());
            assert!(slab.alloc(bytes, || None).is_null());
        }
    }

    #[cfg(debug_assertions)]
    mod misuse {
        use super::*;

        #[test]
        #[should_panic(expected = "freed twice")]
        fn double_free() {
            let mut slab = Slab::new();
            let o = slab.alloc(64, page);
            // SAFETY: a lie, that is the test.
            unsafe {
                slab.free(64, o);
                slab.free(64, o);
            }
        }

        #[test]
        #[should_panic(expected = "no heap object of 48 bytes begins there")]
        fn foreign_address() {
            let mut slab = Slab::new();
            let o = slab.alloc(48, page);
            // SAFETY: a lie, that is the test.
            unsafe { slab.free(48, o.add(16)) };
        }

        #[test]
        #[should_panic(expected = "written to after it was freed")]
        fn use_after_free() {
            let mut slab = Slab::new();
            let o = slab.alloc(64, page);
            // SAFETY: a lie, that is the test.
            unsafe {
                slab.free(64, o);
                o.add(8).write(1);
            }
            slab.alloc(64, page);
        }
    }
}
