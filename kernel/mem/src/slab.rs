//! Pages of one size class, cut into objects.
//!
//! ```text
//!  slab    partial ──► page ◄──► page ──► 0      pages with free objects; full ones are on no list
//!  page    | used | free | used | free | never used ......... |
//!                   ▲ head ──────► free ──► none              ▲ fresh
//! ```
//!
//! What is known of a page lies in its [`PageDesc`], outside, so that a page of 2048-byte objects holds two of them. A page
//! is cut only as far as it is used. A page whose objects are all free goes back to the frames, except for one: or a single
//! object, made and dropped in turn, would cost a page each time.
//!
//! In debug builds a free object bears a mark that catches a second free and a late write.

use crate::PAGE_BYTES;
use crate::class::{CLASS_BYTES, per_page};
use core::ptr;

/// Mark of a free object, mixed with its address.
const FREE_MARK: usize = 0x6672_6565_5f6f_626a;
/// No page: frame 0 is never given to a pool.
const NO_PAGE: u32 = 0;
/// No object: a page has at most 256.
const NO_OBJECT: u16 = u16::MAX;

/// What a slab knows of one of its pages; undefined while the page is not a slab's.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PageDesc {
    next: u32,
    prev: u32,
    /// Last freed object, in units of 8 bytes from the page's start.
    head: u16,
    /// Objects that were never handed out begin here, as a number of objects.
    fresh: u16,
    used: u16,
    class: u16,
}

impl PageDesc {
    /// Class, and how many objects were ever handed out, of a page that has objects in use. A description that is no slab's
    /// is zero, or that of a page that was given back.
    pub fn in_use(&self) -> Option<(usize, usize)> {
        let class = self.class as usize;
        let sound = class < CLASS_BYTES.len() && self.used > 0 && self.fresh >= self.used;
        sound.then_some((class, self.fresh as usize))
    }
}

/// Where pages come from, and how they are numbered.
pub trait Pages {
    /// A page, content undefined, or None.
    fn alloc(&self) -> Option<u32>;
    /// Takes a page back.
    ///
    /// # Safety
    /// It came from `alloc` and nobody uses it.
    unsafe fn free(&self, page: u32);
    /// The memory of a page.
    fn memory(&self, page: u32) -> *mut u8;
    /// The page in which an address lies.
    fn page_of(&self, address: *mut u8) -> u32;
    /// The description of a page.
    fn desc(&self, page: u32) -> *mut PageDesc;
}

/// In debug builds, marks an object as free.
///
/// # Safety
/// The object is the heap's again and has at least 16 bytes.
///
/// # Panics
/// In debug builds, if it is marked already, or no object of the class begins there.
#[inline(always)]
pub unsafe fn mark_free(class: usize, object: *mut usize) {
    if cfg!(debug_assertions) {
        let bytes = CLASS_BYTES[class];
        let offset = object as usize % PAGE_BYTES;
        assert!(
            offset.is_multiple_of(bytes) && offset + bytes <= PAGE_BYTES,
            "{object:p} is freed, but no heap object of {bytes} bytes begins there"
        );
        // SAFETY: the caller's promise.
        unsafe {
            assert_ne!(
                object.add(1).read(),
                FREE_MARK ^ object as usize,
                "heap object {object:p} of {bytes} bytes is freed twice"
            );
            object.add(1).write(FREE_MARK ^ object as usize);
        }
    }
}

/// In debug builds, checks and removes the mark.
///
/// # Safety
/// The object is free, marked, and the caller's.
///
/// # Panics
/// In debug builds, if the mark is gone.
#[inline(always)]
pub unsafe fn unmark(class: usize, object: *mut usize) {
    if cfg!(debug_assertions) {
        // SAFETY: the caller's promise.
        unsafe {
            assert_eq!(
                object.add(1).read(),
                FREE_MARK ^ object as usize,
                "heap object {object:p} of {} bytes was written to after it was freed",
                CLASS_BYTES[class]
            );
            object.add(1).write(0);
        }
    }
}

/// The pages of one class.
pub struct Slab<P> {
    class: usize,
    object_bytes: usize,
    per_page: u16,
    from: P,
    /// First page that has free objects.
    partial: u32,
    /// Pages on that list of which all objects are free: at most one.
    empty: usize,
    pages: usize,
    live: usize,
}

impl<P: Pages> Slab<P> {
    /// An empty slab for a class, an index of [`CLASS_BYTES`].
    pub const fn new(class: usize, from: P) -> Self {
        Self {
            class,
            object_bytes: CLASS_BYTES[class],
            per_page: per_page(class) as u16,
            from,
            partial: NO_PAGE,
            empty: 0,
            pages: 0,
            live: 0,
        }
    }

    /// Up to `n` free objects, marked as such, content undefined; each is handed to `take`. Fewer if pages run out.
    pub fn take_many(&mut self, mut n: usize, mut take: impl FnMut(*mut usize)) {
        while n > 0 && (self.partial != NO_PAGE || self.add_page()) {
            let page = self.partial;
            // SAFETY: pages on the list are the slab's, and so are their descriptions.
            let desc = unsafe { &mut *self.from.desc(page) };
            let memory = self.from.memory(page);
            let count = n.min((self.per_page - desc.used) as usize);
            self.empty -= usize::from(desc.used == 0);
            for _ in 0..count {
                // SAFETY: so many objects of the page are free.
                take(unsafe { self.take_from(desc, memory) });
            }
            desc.used += count as u16;
            if desc.used == self.per_page {
                // SAFETY: it is the first on the list.
                unsafe { self.unlink(page) };
            }
            self.live += count;
            n -= count;
        }
    }

    /// # Safety
    /// The page has a free object.
    #[inline(always)]
    unsafe fn take_from(&self, desc: &mut PageDesc, memory: *mut u8) -> *mut usize {
        // SAFETY: a free object is the slab's; one that was freed has its successor in its first word.
        unsafe {
            if desc.head != NO_OBJECT {
                let object = memory.cast::<usize>().add(desc.head as usize);
                desc.head = object.read() as u16;
                return object;
            }
            let object: *mut usize = memory.add(desc.fresh as usize * self.object_bytes).cast();
            desc.fresh += 1;
            if cfg!(debug_assertions) {
                object.add(1).write(FREE_MARK ^ object as usize);
            }
            object
        }
    }

    /// Takes a marked object back.
    ///
    /// # Safety
    /// The object came from this slab and nobody uses it any more.
    ///
    /// # Panics
    /// In debug builds, if it lies in no page of this class.
    pub unsafe fn put(&mut self, object: *mut usize) {
        let page = self.from.page_of(object.cast());
        // SAFETY: the object came from this slab, so its page is the slab's.
        unsafe {
            let desc = &mut *self.from.desc(page);
            debug_assert!(
                desc.class as usize == self.class && desc.used > 0,
                "{object:p} lies in no page of {}-byte objects",
                CLASS_BYTES[self.class]
            );
            object.write(desc.head as usize);
            desc.head = (object as usize % PAGE_BYTES / 8) as u16;
            let was_full = desc.used == self.per_page;
            desc.used -= 1;
            self.live -= 1;
            if was_full {
                self.link(page);
            }
            if desc.used == 0 {
                self.page_is_empty(page);
            }
        }
    }

    /// A free object that the caller may use; null if a page is needed and there is none.
    pub fn alloc(&mut self) -> *mut u8 {
        let (class, mut got) = (self.class, ptr::null_mut());
        self.take_many(1, |object| {
            // SAFETY: just taken.
            unsafe { unmark(class, object) };
            got = object.cast();
        });
        got
    }

    /// Takes an object back from its user.
    ///
    /// # Safety
    /// As [`Slab::put`].
    ///
    /// # Panics
    /// In debug builds if the object is free already, or none of this class begins at this address.
    pub unsafe fn free(&mut self, object: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            mark_free(self.class, object.cast());
            self.put(object.cast());
        }
    }

    #[cold]
    fn add_page(&mut self) -> bool {
        let Some(page) = self.from.alloc() else {
            return false;
        };
        // SAFETY: the page is the slab's now.
        unsafe {
            self.from.desc(page).write(PageDesc {
                next: NO_PAGE,
                prev: NO_PAGE,
                head: NO_OBJECT,
                fresh: 0,
                used: 0,
                class: self.class as u16,
            });
            self.link(page);
        }
        self.pages += 1;
        self.empty += 1;
        true
    }

    #[cold]
    fn page_is_empty(&mut self, page: u32) {
        if self.empty == 0 {
            self.empty = 1;
            return;
        }
        // SAFETY: on the list, and all of its objects are free.
        unsafe {
            self.unlink(page);
            (*self.from.desc(page)).class = u16::MAX;
            self.from.free(page);
        }
        self.pages -= 1;
    }

    /// Puts a page at the front of the list.
    ///
    /// # Safety
    /// It is the slab's and not on the list.
    unsafe fn link(&mut self, page: u32) {
        // SAFETY: pages on the list are the slab's.
        unsafe {
            let desc = &mut *self.from.desc(page);
            desc.next = self.partial;
            desc.prev = NO_PAGE;
            if self.partial != NO_PAGE {
                (*self.from.desc(self.partial)).prev = page;
            }
        }
        self.partial = page;
    }

    /// Takes a page off the list.
    ///
    /// # Safety
    /// It is on it.
    unsafe fn unlink(&mut self, page: u32) {
        // SAFETY: pages on the list are the slab's.
        unsafe {
            let PageDesc { next, prev, .. } = *self.from.desc(page);
            if prev == NO_PAGE {
                self.partial = next;
            } else {
                (*self.from.desc(prev)).next = next;
            }
            if next != NO_PAGE {
                (*self.from.desc(next)).prev = prev;
            }
        }
    }

    /// Pages that belong to this class.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Objects that were taken and not put back.
    pub fn live(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::HashSet;

    /// Pages of the tests: number n is the n-th of a vector, from 1.
    pub(crate) struct Fake {
        memory: *mut u8,
        descs: *mut PageDesc,
        free: RefCell<Vec<u32>>,
    }
    impl Fake {
        pub(crate) fn new(pages: usize) -> Self {
            let layout =
                std::alloc::Layout::from_size_align((pages + 1) * PAGE_BYTES, PAGE_BYTES).unwrap();
            // SAFETY: the layout is not empty.
            let memory = unsafe { std::alloc::alloc(layout) };
            // SAFETY: as long as the layout says. What was there before shall not matter.
            unsafe { memory.write_bytes(0xaa, layout.size()) };
            let descs = vec![PageDesc::default(); pages + 1].leak().as_mut_ptr();
            Self {
                memory,
                descs,
                free: RefCell::new((1..=pages as u32).rev().collect()),
            }
        }
        pub(crate) fn left(&self) -> usize {
            self.free.borrow().len()
        }
    }
    impl Pages for &Fake {
        fn alloc(&self) -> Option<u32> {
            self.free.borrow_mut().pop()
        }
        unsafe fn free(&self, page: u32) {
            assert!(!self.free.borrow().contains(&page));
            self.free.borrow_mut().push(page);
        }
        fn memory(&self, page: u32) -> *mut u8 {
            self.memory.wrapping_add(page as usize * PAGE_BYTES)
        }
        fn page_of(&self, address: *mut u8) -> u32 {
            ((address as usize - self.memory as usize) / PAGE_BYTES) as u32
        }
        fn desc(&self, page: u32) -> *mut PageDesc {
            self.descs.wrapping_add(page as usize)
        }
    }

    fn class(bytes: usize) -> usize {
        CLASS_BYTES.iter().position(|&b| b == bytes).unwrap()
    }

    #[test]
    fn objects_do_not_overlap_and_pages_are_used_up_and_go_back() {
        for (class, &bytes) in CLASS_BYTES.iter().enumerate() {
            let fake = Fake::new(3);
            let mut slab = Slab::new(class, &fake);
            let n = per_page(class) * 3;
            for _ in 0..2 {
                let objects: Vec<_> = (0..n).map(|_| slab.alloc()).collect();
                assert_eq!((slab.pages(), slab.live()), (3, n));
                assert!(slab.alloc().is_null());
                let mut sorted: Vec<_> = objects.iter().map(|&o| o as usize).collect();
                sorted.sort_unstable();
                assert!(sorted.windows(2).all(|w| w[1] - w[0] >= bytes));
                for &o in &objects {
                    // SAFETY: each object is `bytes` long and ours.
                    unsafe { ptr::write_bytes(o, 0x55, bytes) };
                }
                for &o in &objects {
                    // SAFETY: came from this slab.
                    unsafe { slab.free(o) };
                }
                assert_eq!((slab.live(), slab.pages(), fake.left()), (0, 1, 2));
            }
        }
    }

    #[test]
    fn any_order_keeps_the_books() {
        let fake = Fake::new(200);
        let class = class(96);
        let mut slab = Slab::new(class, &fake);
        let mut rng = base::Rng::new(5);
        let mut held: Vec<*mut u8> = Vec::new();
        for step in 0..20_000u32 {
            // Waves: the crowd grows to 4000 and shrinks to a few.
            let grow = step / 5000 % 2 == 0;
            if held.is_empty() || (rng.below(10) < if grow { 8 } else { 2 } && held.len() < 4000) {
                let o = slab.alloc();
                // SAFETY: 96 bytes of ours.
                unsafe { ptr::write_bytes(o, held.len() as u8, 96) };
                held.push(o);
            } else {
                let o = held.swap_remove(rng.below(held.len() as u32) as usize);
                // SAFETY: came from this slab.
                unsafe { slab.free(o) };
            }
            assert_eq!(slab.live(), held.len());
            assert_eq!(slab.pages() + fake.left(), 200);
        }
        let distinct: HashSet<_> = held.iter().collect();
        assert_eq!(distinct.len(), held.len());
        for o in held {
            // SAFETY: came from this slab.
            unsafe { slab.free(o) };
        }
        assert_eq!((slab.pages(), fake.left()), (1, 199));
    }

    #[cfg(debug_assertions)]
    mod misuse {
        use super::*;

        #[test]
        #[should_panic(expected = "freed twice")]
        fn double_free() {
            let fake = Fake::new(1);
            let mut slab = Slab::new(class(64), &fake);
            let o = slab.alloc();
            // SAFETY: a lie, that is the test.
            unsafe {
                slab.free(o);
                slab.free(o);
            }
        }

        #[test]
        #[should_panic(expected = "no heap object of 48 bytes begins there")]
        fn inside_an_object() {
            let fake = Fake::new(1);
            let mut slab = Slab::new(class(48), &fake);
            let o = slab.alloc();
            // SAFETY: a lie, that is the test.
            unsafe { slab.free(o.add(16)) };
        }

        #[test]
        #[should_panic(expected = "lies in no page of 64-byte objects")]
        fn wrong_size() {
            let fake = Fake::new(2);
            let mut slab = Slab::new(class(64), &fake);
            let o = Slab::new(class(128), &fake).alloc();
            // SAFETY: a lie, that is the test.
            unsafe { slab.free(o) };
        }

        #[test]
        #[should_panic(expected = "written to after it was freed")]
        fn use_after_free() {
            let fake = Fake::new(1);
            let mut slab = Slab::new(class(64), &fake);
            let o = slab.alloc();
            // SAFETY: a lie, that is the test.
            unsafe {
                slab.free(o);
                o.add(8).write(1);
            }
            slab.alloc();
        }
    }
}
